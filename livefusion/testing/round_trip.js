// Put into the page by tests and measurements: compares the number in the camera's picture with that in the
// result, and notes when it left and how long it was away. The clock is performance.now().
(() => {
  const BITS = 16;
  const LONGEST_MS = 2000;
  const ROWS = 2; // what one row of chroma belongs to; a whole picture takes 1.4 ms to copy, and these 0.1
  const away = new Map();
  const trips = (window.trips = { reset, report });
  let state;

  function reset() {
    state = { trips: [], sizes: {}, back: 0, sent: 0, backwards: 0, start: performance.now(), last: 0, gap: 0, number: -1, unclear: 0 };
  }

  async function numberIn(frame) {
    const y = ROWS * Math.floor((frame.codedHeight * 15) / 16 / ROWS);
    const rect = { x: 0, y, width: frame.codedWidth, height: ROWS };
    const pixels = new Uint8Array(frame.allocationSize({ rect }));
    const [{ offset: row }] = await frame.copyTo(pixels, { rect });
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
    const { trips, sizes, backwards, gap, unclear } = state;
    const times = trips.map(([, left, back]) => back - left);
    return { times, trips, sizes, backwards, gap, unclear, fps: state.back / seconds, sent: state.sent / seconds };
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
    const left = away.get(number);
    away.delete(number);
    // The file plays over and over: a number that was missed on its way out is that of the round before.
    if (now - left < LONGEST_MS) state.trips.push([number, left, now]);
    else state.unclear++;
  });
})();
