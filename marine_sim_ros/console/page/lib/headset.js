// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// The view in a headset (WebXR): both eyes are where the camera of the page is, and go with it.

import { THREE } from "nicegui-scene";

let worn = null; // the session of the headset

// The thumbsticks of both controllers as a gamepad of the browser's standard layout, or null.
export function controllers() {
  const sticks = { left: [0, 0], right: [0, 0] };
  let found = false;
  for (const { handedness, gamepad } of worn?.inputSources ?? []) {
    if (!gamepad || !sticks[handedness]) continue;
    found = true;
    sticks[handedness] = [...gamepad.axes].slice(-2); // xr-standard: touchpad, then thumbstick
  }
  if (!found) return null;
  const buttons = Array.from({ length: 17 }, () => ({ pressed: false, value: 0 }));
  return { id: "WebXR", connected: true, mapping: "standard", axes: [...sticks.left, ...sticks.right], buttons };
}

export class Headset {
  // draw: called before each picture; ended: after the last.
  constructor(renderer, scene, draw, ended) {
    Object.assign(this, { renderer, scene, draw, ended });
    this.camera = new THREE.PerspectiveCamera(70, 1, 0.05, 400);
    this.rig = new THREE.Group(); // where the head is at rest; WebXR and cameras have -z ahead and y up
    this.rig.add(this.camera);
    renderer.xr.addEventListener("sessionend", () => this.end());
  }

  // Whether browser and machine have one: browsers say so to this machine's pages and to HTTPS alone.
  static async supported() {
    try {
      return await navigator.xr?.isSessionSupported("immersive-vr") ?? false;
    } catch { // forbidden
      return false;
    }
  }

  get worn() { return Boolean(this.session); }

  // Puts the view into the headset, or takes it back.
  async toggle() {
    if (this.session) { await this.session.end(); return; }
    const { xr } = this.renderer, session = await navigator.xr.requestSession("immersive-vr");
    this.session = worn = session;
    xr.enabled = true;
    xr.setReferenceSpaceType("local");
    // Set before the session, which stops the page's own frames: else both would draw.
    this.renderer.setAnimationLoop(() => {
      if (!xr.isPresenting) return;
      this.draw();
      this.renderer.render(this.scene, this.camera);
    });
    this.scene.add(this.rig);
    try {
      await xr.setSession(session);
    } catch (error) {
      await session.end();
      throw error;
    }
  }

  // Has the head where a camera is; level: only its heading counts, and the horizon stays one.
  place(camera, level) {
    this.rig.position.copy(camera.position);
    if (!level) { this.rig.quaternion.copy(camera.quaternion); return; }
    const ahead = camera.getWorldDirection(new THREE.Vector3());
    this.rig.rotation.set(Math.PI / 2, Math.atan2(ahead.y, ahead.x) - Math.PI / 2, 0); // y of WebXR is up in the map
  }

  end() {
    this.session = worn = null;
    this.renderer.setAnimationLoop(null);
    this.renderer.xr.enabled = false;
    this.scene.remove(this.rig);
    this.ended();
  }
}
