// One connection with the server: an offer is posted (WHIP to send, WHEP to watch), the answer comes back.

const GATHER_MS = 1000;

export class Session {
  #path;
  #token;
  #location = null;

  constructor(path, token) {
    this.#path = path;
    this.#token = token;
    this.peer = new RTCPeerConnection();
  }

  // Offers what the peer connection has; throws an Error whose message can be shown.
  async open() {
    await this.peer.setLocalDescription(await this.peer.createOffer());
    await gathered(this.peer);
    const response = await fetch(this.#path, {
      method: "POST",
      headers: this.#headers({ "Content-Type": "application/sdp" }),
      body: this.peer.localDescription.sdp,
    });
    if (response.status !== 201) throw new Error((await response.text()).trim());
    this.#location = response.headers.get("Location");
    await this.peer.setRemoteDescription({ type: "answer", sdp: await response.text() });
  }

  async close() {
    this.peer.close();
    const location = this.#location;
    this.#location = null;
    if (location === null) return;
    // The page may be going away: keepalive lets the request outlive it.
    await fetch(location, { method: "DELETE", headers: this.#headers({}), keepalive: true }).catch(() => {});
  }

  #headers(more) {
    return { Authorization: `Bearer ${this.#token}`, ...more };
  }
}

// Waits for candidates, but not long: a server that cannot be reached shall not hold the others up.
function gathered(peer) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, GATHER_MS);
    const look = () => {
      if (peer.iceGatheringState !== "complete") return;
      clearTimeout(timer);
      resolve();
    };
    peer.addEventListener("icegatheringstatechange", look);
    look();
  });
}
