// What the page shows of all this.

const IDLE = ["Nothing to see yet", "Send your camera, or watch what somebody else sends."];
const WAITING = ["Waiting for a picture", "It appears as soon as somebody sends."];

export class Screen {
  #element;
  #maySend = true;

  constructor(element) {
    this.#element = element;
    const result = element("result");
    // A picture, not a connection, ends the waiting.
    result.addEventListener("playing", () => (element("card").hidden = true));
    result.addEventListener("emptied", () => (element("card").hidden = false));
    // The self view alone is mirrored: what is sent, and what others see, is not.
    element("mirror").addEventListener("change", ({ target }) => element("self").classList.toggle("mirrored", target.checked));
    element("fullscreen").addEventListener("click", () => element("stage").requestFullscreen?.().catch(() => {}));
  }

  say(text, { problem = false, live = false } = {}) {
    const status = this.#element("status");
    status.textContent = text;
    status.classList.toggle("problem", problem);
    status.classList.toggle("live", live);
  }

  begin() {
    this.#enable({ start: false, watch: false, stop: true });
    this.#describe(WAITING);
    this.say("Connecting");
  }

  end() {
    for (const id of ["self", "result"]) this.#element(id).srcObject = null;
    this.#element("self-view").hidden = true;
    this.#enable({ start: this.#maySend, watch: true, stop: false });
    this.#describe(IDLE);
  }

  showSelf(stream) {
    this.#element("self").srcObject = stream;
    this.#element("self-view").hidden = false;
  }

  showResult(stream, heard) {
    const result = this.#element("result");
    if (result.srcObject !== stream) result.srcObject = stream;
    result.muted = !heard;
  }

  askToken(asked) {
    for (const id of ["token", "token-label"]) this.#element(id).hidden = !asked;
  }

  forbidSending() {
    this.#maySend = false;
    for (const id of ["start", "camera", "microphone", "size"]) this.#element(id).disabled = true;
  }

  #describe([title, text]) {
    this.#element("card-title").textContent = title;
    this.#element("card-text").textContent = text;
    this.#element("card").hidden = false;
  }

  #enable(states) {
    const focused = document.activeElement;
    for (const [id, enabled] of Object.entries(states)) this.#element(id).disabled = !enabled;
    // Who uses the keyboard must not lose the place: a button that is disabled loses the focus.
    if (focused?.disabled) this.#element(states.stop ? "stop" : this.#maySend ? "start" : "watch").focus();
  }
}
