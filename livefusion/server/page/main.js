// The page: sends the camera, shows the result.

import { keepSize, listCameras, openCamera } from "./camera.js";
import { Session } from "./session.js";
import { Statistics } from "./statistics.js";

const MAX_BITRATE = 6_000_000;

const element = (id) => document.getElementById(id);
const statistics = new Statistics(element("statistics"));
let token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
let camera = null;
let sessions = [];

function say(text, problem = false) {
  element("status").textContent = text;
  element("status").classList.toggle("problem", problem);
}

async function send() {
  camera = await openCamera(element("camera").value, element("size").value);
  element("self").srcObject = camera;
  await listCameras(element("camera")); // now with their names
  const session = open("whip");
  const [track] = camera.getVideoTracks();
  track.contentHint = "motion";
  const { sender } = session.peer.addTransceiver(track, { direction: "sendonly", streams: [camera] });
  await keepSize(sender, MAX_BITRATE);
  await session.open();
}

async function watch() {
  const session = open("whep");
  const { receiver } = session.peer.addTransceiver("video", { direction: "recvonly" });
  if ("jitterBufferTarget" in receiver) receiver.jitterBufferTarget = 0;
  session.peer.addEventListener("track", ({ track }) => {
    element("result").srcObject = new MediaStream([track]);
  });
  await session.open();
}

function open(path) {
  const session = new Session(path, token);
  session.peer.addEventListener("connectionstatechange", () => {
    const state = session.peer.connectionState;
    say(state === "connected" ? "Connected" : `Connection ${state}`, state === "failed");
  });
  sessions.push(session);
  return session;
}

async function start(...steps) {
  element("start").disabled = element("watch").disabled = true;
  element("stop").disabled = false;
  say("Connecting");
  if (element("token").value) token = element("token").value;
  try {
    for (const step of steps) await step();
    statistics.start(sessions.map((session) => session.peer));
  } catch (error) {
    await stop();
    say(error.message, true);
    element("token-label").hidden = false;
  }
}

async function stop() {
  statistics.stop();
  const closing = sessions;
  sessions = [];
  camera?.getTracks().forEach((track) => track.stop());
  camera = null;
  for (const id of ["self", "result"]) element(id).srcObject = null;
  element("start").disabled = element("watch").disabled = false;
  element("stop").disabled = true;
  say("Stopped");
  await Promise.all(closing.map((session) => session.close()));
}

// The self view alone is mirrored: what is sent, and what others see, is not.
element("mirror").addEventListener("change", ({ target }) => {
  element("self").classList.toggle("mirrored", target.checked);
});
element("controls").addEventListener("submit", (event) => {
  event.preventDefault();
  start(send, watch);
});
element("watch").addEventListener("click", () => start(watch));
element("stop").addEventListener("click", stop);
addEventListener("pagehide", stop);
element("token-label").hidden = token !== "";

if (navigator.mediaDevices === undefined) {
  say("This browser gives cameras only to https pages and to localhost", true);
  element("start").disabled = true;
} else {
  await listCameras(element("camera"));
}
