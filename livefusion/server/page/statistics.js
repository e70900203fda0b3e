// What the connections say of themselves, once a second.

const INTERVAL_MS = 1000;

export class Statistics {
  #body;
  #timer = null;
  #before = new Map();

  constructor(body) {
    this.#body = body;
  }

  start(peers) {
    this.stop();
    this.#timer = setInterval(() => this.#update(peers), INTERVAL_MS);
  }

  stop() {
    clearInterval(this.#timer);
    this.#before.clear();
    this.#body.replaceChildren();
  }

  async #update(peers) {
    const rows = [];
    for (const peer of peers) {
      const reports = await peer.getStats();
      for (const report of reports.values()) rows.push(...this.#rowsOf(report, reports));
    }
    this.#body.replaceChildren(...rows.map(([name, value]) => rowOf(name, value)));
  }

  #rowsOf(report, reports) {
    if (report.kind === "video" && report.type === "outbound-rtp") {
      return [
        ["Sent", pictureOf(report)],
        ["Sent, Mbit/s", this.#rate(report.id, report.bytesSent, report.timestamp)],
        ["Held back by", report.qualityLimitationReason ?? "–"],
      ];
    }
    if (report.kind === "video" && report.type === "inbound-rtp") {
      return [
        ["Received", pictureOf(report)],
        ["Received, Mbit/s", this.#rate(report.id, report.bytesReceived, report.timestamp)],
        ["Packets lost", String(report.packetsLost ?? 0)],
        ["Freezes", String(report.freezeCount ?? 0)],
        ["Held by the browser, ms", perPicture(report.jitterBufferDelay, report.jitterBufferEmittedCount)],
      ];
    }
    if (report.kind === "audio" && report.type === "inbound-rtp") {
      return [
        ["Sound received, kbit/s", this.#rate(report.id, report.bytesReceived, report.timestamp, 1000)],
        ["Sound held by the browser, ms", perPicture(report.jitterBufferDelay, report.jitterBufferEmittedCount)],
      ];
    }
    if (report.kind === "audio" && report.type === "outbound-rtp") {
      return [["Sound sent, kbit/s", this.#rate(report.id, report.bytesSent, report.timestamp, 1000)]];
    }
    if (report.type === "transport") {
      const pair = reports.get(report.selectedCandidatePairId);
      return pair ? [["Round trip on the wire, ms", milliseconds(pair.currentRoundTripTime)]] : [];
    }
    return [];
  }

  #rate(id, bytes, timestamp, unit = 1_000_000) {
    const before = this.#before.get(id);
    this.#before.set(id, { bytes, timestamp });
    if (before === undefined || timestamp <= before.timestamp) return "–";
    const rate = ((bytes - before.bytes) * 8000) / (timestamp - before.timestamp) / unit;
    return rate.toFixed(unit < 1_000_000 ? 0 : 2);
  }
}

function pictureOf(report) {
  return `${report.frameWidth ?? "–"} × ${report.frameHeight ?? "–"}, ${report.framesPerSecond ?? 0} fps`;
}

function perPicture(total, count) {
  return count ? ((total / count) * 1000).toFixed(0) : "–";
}

function milliseconds(seconds) {
  return seconds === undefined ? "–" : (seconds * 1000).toFixed(0);
}

function rowOf(name, value) {
  const row = document.createElement("tr");
  const head = document.createElement("th");
  const cell = document.createElement("td");
  head.textContent = name;
  cell.textContent = value;
  row.append(head, cell);
  return row;
}
