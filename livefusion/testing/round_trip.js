// Put into the page by tests and measurements: compares the number in the camera's picture with that in the
// result, and notes how long it was away.
(() => {
  const BITS = 16;
  const LONGEST_MS = 2000;
  const away = new Map();
  const trips = (window.trips = { reset, report });
  let state;

  function reset() {
    state = { times: [], sizes: {}, back: 0, sent: 0, backwards: 0, start: performance.now(), last: 0, gap: 0, number: -1, unclear: 0 };
  }

  async function numberIn(frame) {
    const pixels = new Uint8Array(frame.allocationSize());
    const [luma] = await frame.copyTo(pixels);
    const row = luma.offset + luma.stride * Math.floor((frame.codedHeight * 15) / 16);
    let number = 0;
    for (let bit = 0; bit < BITS; bit++) {
      number = (number << 1) | (pixels[row + Math.floor(((bit + 0.5) * frame.codedWidth) / BITS)] > 125 ? 1 : 0);
    }
    return number;
  }

  async function pump(element, call) {
    const track = document.getElementById(element).srcObject.getVideoTracks()[0].clone();
    const reader = new MediaStreamTrackProcessor({ track, maxBufferSize: 3 }).readable.getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const now = performance.now();
      call(await numberIn(value), now, value);
      value.close();
    }
  }

  function report() {
    const seconds = (performance.now() - state.start) / 1000;
    const { times, sizes, backwards, gap, unclear } = state;
    return { times, sizes, backwards, gap, unclear, fps: state.back / seconds, sent: state.sent / seconds };
  }

  reset();
  pump("self", (number, now) => {
    state.sent++;
    away.set(number, now);
  });
  pump("result", (number, now, frame) => {
    state.back++;
    const size = `${frame.displayWidth}x${frame.displayHeight}`;
    state.sizes[size] = (state.sizes[size] ?? 0) + 1;
    if (state.last) state.gap = Math.max(state.gap, now - state.last);
    state.last = now;
    if (number < state.number && state.number - number < 30) state.backwards++; // more is the loop of the file
    state.number = number;
    if (!away.has(number)) return;
    const time = now - away.get(number);
    away.delete(number);
    // The file plays over and over: a number that was missed on its way out is that of the round before.
    if (time < LONGEST_MS) state.times.push(time);
    else state.unclear++;
  });
})();
