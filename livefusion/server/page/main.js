// The page: sends the camera, shows the result.

import { keepSize, listDevices, openDevices } from "./camera.js";
import { Screen } from "./screen.js";
import { Session, iceServers } from "./session.js";
import { Statistics } from "./statistics.js";

const element = (id) => document.getElementById(id);
const screen = new Screen(element);
const statistics = new Statistics(element("statistics"));
let token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
let helpers = [];
let devices = null;
let sending = null;
let watching = null;

async function send() {
  devices = await openDevices(element("camera").value, element("microphone").value, element("size").value);
  screen.showSelf(devices);
  await listDevices(element("camera"), element("microphone")); // now with their names
  const session = (sending = make("whip"));
  for (const track of devices.getTracks()) {
    track.contentHint = track.kind === "video" ? "motion" : "music";
    const { sender } = session.peer.addTransceiver(track, { direction: "sendonly", streams: [devices] });
    if (track.kind === "video") await keepSize(sender, track.getSettings());
  }
  await session.open();
}

async function watch() {
  const session = (watching = make("whep"));
  const stream = new MediaStream();
  session.peer.addEventListener("track", ({ track }) => {
    stream.addTrack(track);
    screen.showResult(stream, element("listen").checked);
  });
  const { receiver } = session.peer.addTransceiver("video", { direction: "recvonly" });
  if ("jitterBufferTarget" in receiver) receiver.jitterBufferTarget = 0;
  // Only for who listens: the browser holds pictures back until their sound is ready to be heard.
  if (element("listen").checked) session.peer.addTransceiver("audio", { direction: "recvonly" });
  await session.open();
}

function make(path) {
  const session = new Session(path, token, helpers);
  session.peer.addEventListener("connectionstatechange", () => note(session));
  return session;
}

function note(session) {
  if (session !== sending && session !== watching) return;
  const states = sessions().map(({ peer }) => peer.connectionState);
  if (states.includes("failed") || states.includes("closed")) {
    finish("The connection is lost. LiveFusion may have ended, or somebody else sends now.");
  } else if (states.includes("disconnected")) {
    screen.say("The connection is interrupted; waiting", { problem: true });
  } else if (states.every((state) => state === "connected")) {
    screen.say("Connected", { live: true });
  }
}

function sessions() {
  return [sending, watching].filter((session) => session !== null);
}

async function start(...steps) {
  screen.begin();
  if (element("token").value) token = element("token").value;
  try {
    helpers = await iceServers(token);
    for (const step of steps) await step();
    statistics.start(sessions().map((session) => session.peer));
  } catch (error) {
    screen.askToken(/token/i.test(error.message));
    await finish(error.message);
  }
}

async function finish(problem = "") {
  statistics.stop();
  const closing = sessions();
  sending = watching = null;
  devices?.getTracks().forEach((track) => track.stop());
  devices = null;
  screen.end();
  screen.say(problem || "Stopped", { problem: problem !== "" });
  await Promise.all(closing.map((session) => session.close()));
}

// Sound comes with a connection of its own making, so that who does not listen does not wait for it.
async function listen() {
  if (watching === null) return;
  const before = watching;
  watching = null;
  await before.close();
  try {
    await watch();
    statistics.start(sessions().map((session) => session.peer));
  } catch (error) {
    await finish(error.message);
  }
}

element("controls").addEventListener("submit", (event) => {
  event.preventDefault();
  start(send, watch);
});
element("watch").addEventListener("click", () => start(watch));
element("stop").addEventListener("click", () => finish());
element("listen").addEventListener("change", listen);
addEventListener("pagehide", () => finish());
screen.askToken(token === "");

if (navigator.mediaDevices === undefined) {
  screen.say("Browsers give cameras only to pages by https and to localhost. You can watch here.", { problem: true });
  screen.forbidSending();
} else {
  const list = () => listDevices(element("camera"), element("microphone"));
  navigator.mediaDevices.addEventListener("devicechange", list);
  await list();
}
