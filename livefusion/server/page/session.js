// One connection with the server: an offer is posted (WHIP to send, WHEP to watch), the answer comes back.

const GATHER_MS = 1000;

export class Session {
  #path;
  #token;
  #location = null;

  constructor(path, token, iceServers) {
    this.#path = path;
    this.#token = token;
    this.peer = new RTCPeerConnection({ iceServers });
  }

  // Offers what the peer connection has; throws an Error whose message can be shown.
  async open() {
    const offer = await this.peer.createOffer();
    await this.peer.setLocalDescription({ type: "offer", sdp: inStereo(offer.sdp) });
    await gathered(this.peer);
    const response = await ask(this.#path, this.#token, {
      method: "POST",
      headers: { "Content-Type": "application/sdp" },
      body: this.peer.localDescription.sdp,
    });
    this.#location = response.headers.get("Location");
    await this.peer.setRemoteDescription({ type: "answer", sdp: await response.text() });
  }

  async close() {
    this.peer.close();
    const location = this.#location;
    this.#location = null;
    if (location === null) return;
    // The page may be going away: keepalive lets the request outlive it.
    await ask(location, this.#token, { method: "DELETE", keepalive: true }).catch(() => {});
  }
}

export async function iceServers(token) {
  return (await ask("api/ice", token, {})).json();
}

async function ask(path, token, request) {
  const headers = { Authorization: `Bearer ${token}`, ...request.headers };
  let response;
  try {
    response = await fetch(path, { ...request, headers });
  } catch {
    throw new Error("LiveFusion does not answer. Is it still running?");
  }
  if (!response.ok) throw new Error(sentence((await response.text()).trim() || `LiveFusion refuses (${response.status})`));
  return response;
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}

// Browsers decode Opus in mono unless their own description says that they want both sides.
function inStereo(sdp) {
  return sdp.replace(/^(a=fmtp:\d+ .*useinbandfec=1)(?!.*stereo=1)/gm, "$1;stereo=1;sprop-stereo=1");
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
