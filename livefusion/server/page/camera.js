// The cameras of this machine, and the picture of one of them.

export async function listCameras(select) {
  const chosen = select.value;
  const devices = await navigator.mediaDevices.enumerateDevices();
  const cameras = devices.filter((device) => device.kind === "videoinput");
  select.replaceChildren(
    ...cameras.map((camera, index) => new Option(camera.label || `Camera ${index + 1}`, camera.deviceId)),
  );
  if (cameras.some((camera) => camera.deviceId === chosen)) select.value = chosen;
}

export async function openCamera(deviceId, size) {
  const [width, height] = size.split("x").map(Number);
  const video = { width: { ideal: width }, height: { ideal: height }, frameRate: { ideal: 30 } };
  if (deviceId) video.deviceId = { exact: deviceId };
  return navigator.mediaDevices.getUserMedia({ video, audio: false });
}

// A face in motion: rather fewer details than fewer pictures, and never another size.
export async function keepSize(sender, bitrate) {
  const parameters = sender.getParameters();
  parameters.degradationPreference = "maintain-resolution";
  for (const encoding of parameters.encodings) encoding.maxBitrate = bitrate;
  await sender.setParameters(parameters).catch(() => {});
}
