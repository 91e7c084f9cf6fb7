// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// The view: the vehicle in its water, what acts on it, where it has been and is to go.

import { THREE } from "nicegui-scene";
import { byName, numbers, text, tr, visibility, weightOf, wire } from "./connection.js";
import { Arrow, Particles, Silt, Targets, Tether, Water, boxed, glass, loose, moveTo, pointer, solids, thrusters, vehicle, voxels } from "./shapes.js";
import { SIDES, ViewCamera } from "./camera.js";
import { Headset } from "./headset.js";
import { Overlay } from "./overlay.js";

const TRAIL = 4000;
const OTHERS = [0x7e57c2, 0x2e7d32]; // colours of other runs
const HAZE = 0.025; // 1/m, of the water
const PLAN = 20; // m that one sees at least where waypoints are placed
const BUSY = 0.3; // share of the time that drawing may take: the sticks come first
const FRUGAL = 0.6; // the same where the processor draws, with threads of its own that nobody sees
const SLOW = 40; // ms of drawing from which on the picture gets coarser
const SLOW_FRUGAL = 22; // the same where the processor draws: 15 pictures a second
const GLANCE = 3; // ms between looks whether a picture is drawn
const OVERDUE = 3; // periods of frames after which the vehicle counts as at rest
const COARSEST = 0.5; // pixels of the picture per pixel of the page

export class View {
  constructor(element) {
    this.element = element;
    this.seen = visibility(element);
    this.slow = software();
    this.renderer = new THREE.WebGLRenderer({ antialias: !this.slow, powerPreference: "low-power" });
    this.sharpness = Math.min(window.devicePixelRatio, this.slow ? 1 : 1.5);
    document.body.dataset.slow = this.slow; // the menu of layers says what is left out
    this.canvas = this.renderer.domElement;
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", "View of the vehicle; arrow keys turn or move the camera, + and - bring it nearer");
    element.prepend(this.canvas);
    this.scene = new THREE.Scene();
    this.overlay = new Overlay(element);
    this.headset = new Headset(this.renderer, this.scene, () => this.prepareHeadset(), () => this.resize());
    Headset.supported().then((found) => { element.dataset.headset = found; });
    this.legend = element.querySelector(".legend");
    this.screen = element.querySelector(".video");
    this.darkness = element.querySelector(".dark"); // a replay and an instructor have none
    document.addEventListener("visibilitychange", () => this.stream());
    this.shown = { picture: true, forces: true, trail: true, voxels: false, box: false, water: true, particles: true };
    this.arrows = byName();
    this.waypoints = [];
    this.drawn = this.due = 0;
    // Where the processor draws, it also puts the page together: once for numbers and picture.
    if (this.slow) wire.pause = () => (this.draws ? Math.max(0, this.due - performance.now()) : 0);
    wire.on("scenery", (scenery) => this.build(scenery));
    wire.on("frame", (frame) => this.update(frame));
    wire.on("history", (past) => this.retrace(past));
    new ResizeObserver(() => this.resize()).observe(element);
    this.watch = new MutationObserver(() => this.shade());
    this.watch.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    this.canvas.addEventListener("click", (event) => this.click(event));
    this.canvas.addEventListener("wheel", () => this.touch(), { passive: true });
    this.canvas.addEventListener("keydown", (event) => {
      if (!this.eye?.key(event)) return;
      event.preventDefault();
      this.touch();
    });
    this.resize();
  }

  build(scenery) {
    const { look, around } = scenery, colours = byName(scenery.colours);
    const { body, links, joints } = vehicle(look);
    Object.assign(this, { body, links, joints, look });
    const box = new THREE.Box3().setFromObject(body);
    const edges = box.getSize(new THREE.Vector3());
    this.size = Math.max(0.3, edges.x, edges.y, edges.z);
    body.add(thrusters(look, this.size));
    if (look.voxels) {
      this.voxels = voxels(look.voxels);
      box.union(new THREE.Box3().setFromObject(this.voxels));
      body.add(this.voxels);
    }
    this.box = new THREE.Group();
    this.box.add(new THREE.Box3Helper(box, 0xffc400));
    body.add(this.box);
    this.boxes = [this.box, ...Object.values(links).filter((link) => link !== body).map(boxed)];
    this.plan = pointer();
    body.add(this.plan);
    this.forces = new THREE.Group();
    body.add(this.forces);
    for (const name of [...scenery.sources, "weight"]) {
      this.arrows[name] = new Arrow(colours[name] ?? [0.6, 0.6, 0.2], this.size / 55);
      this.forces.add(this.arrows[name].object);
    }
    this.lights = byName();
    for (const name of look.lights) {
      const lamp = new THREE.SpotLight(0xfff4d6, 0, 25, 0.55, 0.5, 1.2);
      lamp.target.position.set(5, 0, 0);
      links[name].add(lamp, lamp.target);
      this.lights[name] = lamp;
    }
    this.tether = new Tether(this.size / 150);
    this.water = new Water(around.waves);
    this.particles = new Particles();
    this.silt = new Silt();
    this.current = around.current;
    this.solids = solids(around);
    this.bodies = byName(Object.fromEntries(around.bodies.map((body) => [body.name, loose(body)])));
    for (const body of Object.values(this.bodies)) this.scene.add(body);
    this.eye = new ViewCamera(this.canvas, this.size);
    this.eye.controls.addEventListener("change", () => this.touch());
    this.label([...scenery.sources, "weight"], colours);
    this.trail = new THREE.Line(
      new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: 0xffa726 }),
    );
    this.trail.geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * TRAIL), 3));
    this.trail.geometry.setDrawRange(0, 0);
    const dots = new THREE.PointsMaterial({ color: 0xff8f00, size: 3, sizeAttenuation: false });
    this.trail.add(new THREE.Points(this.trail.geometry, dots));
    for (const one of [this.trail, ...this.trail.children]) one.frustumCulled = false;
    this.length = 0;
    this.course = new THREE.Group();
    this.others = new THREE.Group(); // paths of other runs
    (scenery.compared ?? []).forEach(({ line }, i) => {
      const path = new THREE.BufferGeometry();
      path.setAttribute("position", new THREE.BufferAttribute(numbers(line), 3));
      this.others.add(new THREE.Line(path, new THREE.LineBasicMaterial({ color: OTHERS[i % OTHERS.length] })));
    });
    this.targets = new Targets(scenery.mission?.tasks ?? []);
    this.sky = new THREE.HemisphereLight(0xeaf6ff, 0x35566b, 2.2);
    this.sun = new THREE.DirectionalLight(0xffffff, 1.6);
    this.sun.position.set(-4, 3, 8);
    this.scene.add(body, this.tether.object, this.water.object, this.particles.object, this.silt.object, this.solids, this.trail, this.others, this.course, this.targets.object, this.sky, this.sun, this.eye.grids);
    this.shade();
    this.choose("follow");
    this.apply();
    this.renderer.compile(this.scene, this.eye.camera);
    this.loop();
  }

  shade() {
    const dark = document.body.classList.contains("body--dark");
    this.day = new THREE.Color(dark ? 0x0b2a3d : 0x9fd0e6);
    this.scene.background = this.scene.visible ? this.day : new THREE.Color(0);
    this.scene.fog = this.eye && SIDES[this.eye.name] ? null : new THREE.FogExp2(this.day, HAZE);
    if (this.sky) {
      this.sky.intensity = dark ? 1.1 : 2.2;
      this.sun.intensity = dark ? 0.9 : 1.6;
    }
    this.touch();
  }

  // Something of the picture is new: it is drawn as soon as it may be.
  touch() {
    this.stale = true;
    if (!this.resting || performance.now() < this.due) return;
    clearTimeout(this.resting);
    this.loop();
  }

  // Whether the page has a picture of its own to draw.
  get draws() { return !this.headset.worn && this.seen() && this.shown.picture && !this.video; }

  // Which colour is which force, and how large it is.
  label(names, colours) {
    this.sizes = byName();
    for (const name of names) {
      const chip = document.createElement("i"), what = document.createElement("span");
      chip.style.background = `rgb(${(colours[name] ?? [0.6, 0.6, 0.2]).map((x) => Math.round(255 * x)).join(" ")})`;
      what.textContent = tr(name);
      this.sizes[name] = document.createElement("output");
      this.sizes[name].textContent = "–";
      this.legend.append(chip, what, this.sizes[name]);
    }
  }

  choose(name) {
    this.video = name.startsWith("video:") ? name.slice(6) : "";
    this.stream();
    this.element.dataset.eye = name;
    if (this.video) this.apply();
    if (this.video || !this.eye) return;
    this.eye.choose(name);
    this.element.querySelector("[data-scale]").hidden = !SIDES[name];
    this.apply();
    this.shade();
  }

  // The camera sends pictures only while they are seen.
  stream() {
    const seen = this.video && !document.hidden, source = `/video/${encodeURIComponent(this.video)}`;
    this.screen.hidden = !this.video;
    if (!seen) this.screen.removeAttribute("src");
    else if (this.screen.getAttribute("src") !== source) this.screen.src = source;
  }

  show(name, on) {
    this.shown[name] = on;
    this.apply();
  }

  apply() {
    if (!this.body) return;
    const off = !this.shown.picture;
    this.canvas.hidden = off;
    this.element.querySelector(".blank").hidden = !off;
    this.legend.hidden = off || Boolean(this.video) || !this.shown.forces;
    this.forces.visible = this.shown.forces;
    this.trail.visible = this.others.visible = this.shown.trail;
    for (const one of this.boxes) one.visible = this.shown.box;
    const flat = SIDES[this.eye.name]?.[0][2]; // from above or below the water only dims
    this.water.object.visible = this.shown.water && !flat;
    this.particles.object.visible = this.silt.object.visible = this.shown.particles && !SIDES[this.eye.name];
    if (this.voxels) {
      this.voxels.visible = this.shown.voxels;
      glass(this.body, this.shown.voxels);
    }
    this.element.dataset.shown = Object.keys(this.shown).filter((name) => this.shown[name]).join(" ");
    this.touch();
  }

  retrace(past) {
    this.length = 0;
    const now = wire.frame?.time ?? Infinity; // of a bag, what is to come is known too
    for (const frame of past) if (frame.time <= now) this.mark(frame.position);
    this.touch();
  }

  mark(at) {
    if (!this.trail || !at || at[0] === null) return;
    const points = this.trail.geometry.attributes.position;
    const far = this.size / 20;
    if (this.length) {
      const i = 3 * (this.length - 1);
      const moved = Math.hypot(at[0] - points.array[i], at[1] - points.array[i + 1], at[2] - points.array[i + 2]);
      if (moved < far) return;
    }
    if (this.length === TRAIL) {
      points.array.copyWithin(0, 3 * TRAIL / 2);
      this.length = TRAIL / 2;
    }
    points.array.set(at, 3 * this.length);
    this.length += 1;
    this.trail.geometry.setDrawRange(0, this.length);
    points.needsUpdate = true;
  }

  // Shows nothing but the overlay while a fault darkens the cameras.
  darken({ time, mode }) {
    const dark = (mode?.faults ?? []).some(({ kind, start, end = Infinity }) => kind === "cameras_dark" && start <= time && time < end);
    if (!this.darkness || dark === !this.darkness.hidden) return;
    this.darkness.hidden = !dark;
    this.scene.visible = !dark;
    this.shade();
  }

  update(frame) {
    this.darken(frame);
    if (!this.body || !frame.position || frame.position[0] === null) return;
    if (frame.time !== this.time) this.touch();
    this.keep(frame);
    this.body.position.set(...frame.position);
    if (frame.turn[0] !== null) this.body.quaternion.set(...frame.turn);
    this.look.joints.forEach((joint, i) => this.joints[joint.name]?.(frame.joints[i] ?? 0));
    this.spin(frame);
    if (!wire.replay) {
      if (frame.time < this.time) this.length = 0; // the run was reset
      this.mark(frame.position);
    }
    if (frame.mode?.current) this.current = frame.mode.current;
    this.time = frame.time;
    this.push(frame);
    if (frame.mission) this.targets.set(frame.mission.tasks);
    this.silt.set(frame.silt ?? []);
    if (this.look.tether) this.tether.set(frame.tether.shape);
    for (const [name, pose] of Object.entries(frame.bodies ?? {})) if (this.bodies[name]) moveTo(this.bodies[name], pose);
    for (const [name, lamp] of Object.entries(this.lights)) {
      const bright = 40 * (frame.lights?.[name] ?? 0);
      if (bright !== lamp.intensity) this.touch();
      lamp.intensity = bright;
      lamp.visible = bright > 0; // a dark one would cost as much
    }
    this.element.dataset.time = frame.time.toFixed(2);
  }

  // Keeps the two newest frames of a run and when they came, by which the vehicle moves until the next.
  keep(frame) {
    const now = performance.now(), follows = !wire.replay && this.newest?.time < frame.time;
    this.before = follows ? this.newest : null;
    this.gap = now - this.came;
    this.came = now;
    this.newest = frame;
  }

  // Share of the way to the next frame, 0 to 1; null where none has come for long, as in a pause.
  get ahead() {
    if (!this.before) return null;
    const share = (performance.now() - this.came) / this.gap;
    return share < OVERDUE ? Math.min(1, share) : null;
  }

  // Moves the vehicle on as it moved from frame to frame, so that it does not go by jerks.
  lead() {
    const share = this.ahead;
    this.led = share !== null;
    if (!this.before || this.before.turn[0] === null || this.newest.turn[0] === null) return;
    const { position, quaternion } = this.body, last = new THREE.Vector3(...this.newest.position);
    position.copy(last).addScaledVector(last.clone().sub(new THREE.Vector3(...this.before.position)), share ?? 0);
    quaternion.set(...this.before.turn).slerp(new THREE.Quaternion(...this.newest.turn), 1 + (share ?? 0));
  }

  // Turns the propellers that are links of their own to their angles, rad.
  spin({ propellers }) {
    this.look.thrusters.forEach(({ propeller }, i) => {
      if (this.links[propeller]) this.links[propeller].rotation.z = propellers?.[i] ?? 0;
    });
  }

  // An arrow per force, in length as the root of its newtons, so that thrust is seen beside weight, from the point of its line of action nearest to the origin.
  push(frame) {
    const all = { ...frame.wrenches };
    if (frame.turn[0] !== null) all.weight = this.weightOf(frame);
    delete all.total;
    for (const [name, wrench] of Object.entries(all)) {
      if (!this.arrows[name]) continue;
      const force = new THREE.Vector3(...wrench.slice(0, 3));
      const torque = new THREE.Vector3(...wrench.slice(3));
      const square = force.lengthSq();
      const size = `${text(Math.sqrt(square), 1)} N`;
      if (this.sizes[name].textContent !== size) this.sizes[name].textContent = size;
      const from = square > 0 ? force.clone().cross(torque).divideScalar(square) : new THREE.Vector3();
      this.arrows[name].set(from.clampLength(0, this.size), force.setLength(0.7 * this.size * Math.sqrt(force.length() / frame.weight)));
    }
  }

  weightOf(frame) {
    const down = weightOf(frame);
    const arm = new THREE.Vector3(...this.look.center_of_mass).cross(new THREE.Vector3(...down));
    return [...down, ...arm.toArray()];
  }

  // Moves the camera nearer, or farther away for more than 1.
  zoom(by) {
    this.eye?.zoom(by);
    this.touch();
  }

  // From now on a click in the view from above places a waypoint; or no more.
  place(on) {
    this.placing = on;
    if (on) this.eye.scale = Math.max(this.eye.scale, PLAN);
    this.touch();
  }

  // A click in the view from above, while waypoints are placed: its place in the map.
  click(event) {
    if (!this.placing || this.eye?.name !== "above") return;
    this.eye.update(this.body, this.links, this.aspect); // it may not have been drawn yet
    this.eye.camera.updateMatrixWorld();
    const box = this.canvas.getBoundingClientRect();
    const at = new THREE.Vector3(
      2 * (event.clientX - box.left) / box.width - 1, 1 - 2 * (event.clientY - box.top) / box.height, 0,
    ).unproject(this.eye.camera);
    this.element.dispatchEvent(new CustomEvent("place", { detail: [at.x, at.y] }));
  }

  route(points) {
    this.course.clear();
    this.element.dataset.waypoints = points.length;
    this.touch();
    const material = new THREE.MeshBasicMaterial({ color: 0xe53935, depthTest: false });
    for (const point of points) {
      const ball = new THREE.Mesh(new THREE.SphereGeometry(this.size / 8, 16, 12), material);
      ball.position.set(...point);
      this.course.add(ball);
    }
    if (points.length > 1) {
      const line = new THREE.BufferGeometry().setFromPoints(points.map((p) => new THREE.Vector3(...p)));
      this.course.add(new THREE.Line(line, new THREE.LineBasicMaterial({ color: 0xe53935 })));
    }
  }

  // Have it drawn with the size that it has now; until then the old picture is stretched.
  resize() {
    this.resized = true;
    this.due = 0;
    this.touch();
  }

  // Takes the old picture away, so that a new one has to follow at once.
  fit() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height) return;
    this.renderer.setPixelRatio(this.sharpness);
    this.renderer.setSize(width, height, false);
    this.aspect = width / height;
    this.resized = false;
  }

  // Draws what is new, at most 60 times a second, 25 where the processor draws, and never so often or so
  // fine that the rest starves.
  loop() {
    const now = performance.now(), stale = this.stale || (this.led && (!this.slow || this.ahead === null));
    this.resting = 0;
    if (!stale || now < this.due || !this.draws) {
      this.resting = setTimeout(() => this.loop(), now < this.due ? this.due - now : this.slow ? 20 : 4);
      return;
    }
    requestAnimationFrame(() => this.paint(performance.now())); // none while the page is hidden
  }

  // Moves cameras, waves and particles to the time of the newest frame.
  prepare() {
    this.lead();
    this.eye.update(this.body, this.links, this.aspect ?? 2);
    if (this.scene.fog) this.scene.fog.density = HAZE + (this.silt.object.visible ? this.silt.at(this.eye.camera.position) : 0);
    if (this.water.object.visible) this.water.update(this.time ?? 0, this.body.position.x, this.body.position.y);
    if (this.particles.object.visible) {
      const step = Math.max(0, (this.time ?? 0) - (this.drifted ?? this.time ?? 0));
      this.drifted = this.time;
      this.particles.update(step, this.current, this.body.position.toArray());
    }
  }

  // Before each picture of a headset.
  prepareHeadset() {
    this.prepare();
    this.headset.place(this.eye.wide, !this.links[this.eye.name]);
  }

  // Puts the view into a headset, or takes it back.
  wear() {
    this.headset.toggle().catch((error) => wire.tell("error", error.message));
  }

  paint(now) {
    if (this.resized) this.fit();
    this.stale = false;
    this.prepare();
    const far = this.eye.camera === this.eye.wide ? 1 : Math.max(1, this.eye.scale / (4 * this.size));
    this.plan.visible = far > 2; // else the vehicle itself is seen
    this.plan.scale.setScalar(far * this.size / 6);
    for (const ball of this.course.children) if (ball.isMesh) ball.scale.setScalar(far);
    this.renderer.render(this.scene, this.eye.camera);
    this.due = now + (this.cost ?? 0) / FRUGAL;
    const gl = this.renderer.getContext(), fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    // Only the queue to the graphics would grow, if the next picture did not wait for this one.
    const look = () => {
      if (fence && gl.clientWaitSync(fence, 0, 0) === gl.TIMEOUT_EXPIRED) setTimeout(look, GLANCE);
      else {
        gl.deleteSync(fence);
        this.finish(now);
        this.loop();
      }
    };
    setTimeout(look);
  }

  // The picture that was begun at a time is there.
  finish(begun) {
    this.drawn += 1;
    this.element.dataset.drawn = this.drawn;
    const took = performance.now() - begun;
    const [least, share, slow] = this.slow ? [38, FRUGAL, SLOW_FRUGAL] : [14, BUSY, SLOW];
    this.due = begun + Math.max(least, took / share);
    this.cost = 0.8 * (this.cost ?? slow / 2) + 0.2 * took;
    if (this.cost > slow && this.sharpness > COARSEST) {
      this.sharpness = Math.max(COARSEST, 0.8 * this.sharpness);
      this.cost = slow / 2;
      this.due = begun + least;
      this.resized = this.stale = true;
    }
  }
}

// Whether the graphics are drawn by the processor, for which smooth edges are too dear.
function software() {
  const gl = document.createElement("canvas").getContext("webgl2");
  const told = gl?.getExtension("WEBGL_debug_renderer_info");
  const name = told ? gl.getParameter(told.UNMASKED_RENDERER_WEBGL) : "";
  gl?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(name);
}
