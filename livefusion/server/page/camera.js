// The cameras and microphones of this machine, and what one of each gives.

const KINDS = { videoinput: "Camera", audioinput: "Microphone" };

// Music as it is: what makes speech clear makes music sound like a telephone.
const MUSIC = { echoCancellation: false, noiseSuppression: false, autoGainControl: false, channelCount: { ideal: 2 } };

export async function listDevices(cameras, microphones) {
  const devices = await navigator.mediaDevices.enumerateDevices();
  fill(cameras, devices, "videoinput", []);
  fill(microphones, devices, "audioinput", [new Option("No sound", "")]);
}

function fill(select, devices, kind, first) {
  const chosen = select.value;
  const found = devices.filter((device) => device.kind === kind);
  const options = found.map((device, index) => new Option(device.label || `${KINDS[kind]} ${index + 1}`, device.deviceId || "default"));
  select.replaceChildren(...first, ...options);
  if ([...select.options].some((option) => option.value === chosen)) select.value = chosen;
  select.disabled = select.options.length === 0;
}

export async function openDevices(cameraId, microphoneId, size) {
  const [width, height] = size.split("x").map(Number);
  const video = { width: { ideal: width }, height: { ideal: height }, frameRate: { ideal: 30 } };
  if (cameraId && cameraId !== "default") video.deviceId = { exact: cameraId };
  const audio = microphoneId === "" ? false : { ...MUSIC };
  if (audio && microphoneId !== "default") audio.deviceId = { exact: microphoneId };
  try {
    return await navigator.mediaDevices.getUserMedia({ video, audio });
  } catch (error) {
    throw new Error(explain(error, audio !== false));
  }
}

// What a person can do about it; browsers tell it to programmers.
function explain(error, withSound) {
  const devices = withSound ? "camera and the microphone" : "camera";
  switch (error.name) {
    case "NotAllowedError":
    case "SecurityError":
      return `The browser keeps the ${devices} from this page. Allow them at the sign beside the address, then try again.`;
    case "NotFoundError":
      return withSound ? "There is no such camera or microphone. Choose another, or no sound." : "There is no camera. You can still watch.";
    case "NotReadableError":
    case "AbortError":
      return `The ${devices} cannot be opened: another program may be using it. Close that, then try again.`;
    case "OverconstrainedError":
      return "This camera or microphone is gone. Choose another.";
    default:
      return `The ${devices} cannot be opened (${error.message || error.name}).`;
  }
}

// Browsers send as much as they may, and each packet takes its time: no more than a face is the better for.
const [LEAST_BITRATE, MOST_BITRATE, BITS_A_PIXEL] = [2_500_000, 8_000_000, 5.5];

// A face in motion: rather fewer details than fewer pictures, and never another size.
export async function keepSize(sender, { width, height }) {
  const bitrate = Math.min(MOST_BITRATE, Math.max(LEAST_BITRATE, Math.round(BITS_A_PIXEL * width * height)));
  const parameters = sender.getParameters();
  parameters.degradationPreference = "maintain-resolution";
  for (const encoding of parameters.encodings) encoding.maxBitrate = bitrate;
  await sender.setParameters(parameters).catch(() => {});
}
