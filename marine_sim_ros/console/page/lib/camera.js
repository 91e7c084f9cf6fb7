// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// Where the camera is: behind the vehicle, free, at the vehicle's cameras, or one of six parallel
// views in front of a measuring grid that is fixed in the map.

import { THREE, OrbitControls } from "nicegui-scene";

// Direction from the vehicle to the camera, and what is up on the picture, in map (ENU).
export const SIDES = {
  above: [[0, 0, 1], [0, 1, 0]], below: [[0, 0, -1], [0, 1, 0]],
  east: [[1, 0, 0], [0, 0, 1]], west: [[-1, 0, 0], [0, 0, 1]],
  north: [[0, 1, 0], [0, 0, 1]], south: [[0, -1, 0], [0, 0, 1]],
};

function gridOf(side) {
  const group = new THREE.Group();
  const reach = 30, points = [], bold = [];
  const squares = [];
  for (let i = -reach; i <= reach; i++) {
    (i % 5 ? points : bold).push(i, -reach, 0, i, reach, 0, -reach, i, 0, reach, i, 0);
    for (let k = -reach + ((i + reach) % 2); k < reach && i < reach; k += 2) {
      squares.push(i, k, 0, i + 1, k, 0, i + 1, k + 1, 0, i, k, 0, i + 1, k + 1, 0, i, k + 1, 0);
    }
  }
  const board = new THREE.BufferGeometry();
  board.setAttribute("position", new THREE.Float32BufferAttribute(squares, 3));
  group.add(new THREE.Mesh(board, new THREE.MeshBasicMaterial({
    color: 0x8fa3b2, transparent: true, opacity: 0.22, side: THREE.DoubleSide, depthWrite: false,
  })));
  for (const [ends, opacity] of [[points, 0.35], [bold, 0.9]]) {
    const shape = new THREE.BufferGeometry();
    shape.setAttribute("position", new THREE.Float32BufferAttribute(ends, 3));
    group.add(new THREE.LineSegments(shape, new THREE.LineBasicMaterial({ color: 0x8fa3b2, transparent: true, opacity })));
  }
  group.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3(...SIDES[side][0]));
  if (side === "east" || side === "west") group.quaternion.setFromEuler(new THREE.Euler(0, Math.PI / 2, 0));
  if (side === "north" || side === "south") group.quaternion.setFromEuler(new THREE.Euler(Math.PI / 2, 0, 0));
  return group;
}

export class ViewCamera {
  constructor(canvas, size) {
    this.size = size;
    this.wide = new THREE.PerspectiveCamera(55, 2, 0.05, 400);
    this.flat = new THREE.OrthographicCamera(-1, 1, 1, -1, -200, 400);
    this.scale = 4 * size; // m across the height of a parallel view
    this.wide.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.wide, canvas);
    this.controls.enableDamping = false;
    this.away = new THREE.Vector3(-1.3, -0.75, 0.55).multiplyScalar(size); // of a following camera, from the vehicle
    this.returns = true;
    this.last = new THREE.Vector3();
    this.grids = new THREE.Group();
    this.name = "follow";
    canvas.addEventListener("wheel", (event) => {
      if (!SIDES[this.name]) return;
      event.preventDefault();
      this.zoom(Math.exp(event.deltaY / 600));
    }, { passive: false });
  }

  choose(name) {
    this.returns = name === "follow" || !this.controls.enabled;
    this.name = name;
    this.controls.enabled = name === "follow" || name === "free";
    this.grids.clear();
    if (SIDES[name]) this.grids.add(gridOf(name));
  }

  get camera() { return SIDES[this.name] ? this.flat : this.wide; }

  // Moves the camera to a vehicle's body; links are the groups of its links.
  update(body, links, aspect) {
    const here = body.getWorldPosition(new THREE.Vector3());
    const moved = here.clone().sub(this.last);
    this.last.copy(here);
    if (SIDES[this.name]) { this.beside(here, aspect); return; }
    this.wide.aspect = aspect;
    if (links[this.name]) {
      const link = links[this.name];
      const turn = link.getWorldQuaternion(new THREE.Quaternion());
      const ahead = new THREE.Vector3(1, 0, 0).applyQuaternion(turn);
      this.wide.up.set(0, 0, 1).applyQuaternion(turn);
      this.wide.fov = 80;
      link.getWorldPosition(this.wide.position).addScaledVector(ahead, 0.06);
      this.wide.lookAt(this.wide.position.clone().add(ahead));
    } else {
      this.wide.up.set(0, 0, 1);
      this.wide.fov = 55;
      if (this.returns) {
        this.wide.position.copy(here).add(this.away);
        this.controls.target.copy(here);
      } else if (this.name === "follow") {
        this.wide.position.add(moved);
        this.controls.target.copy(here);
      }
      this.returns = false;
      this.controls.update();
      if (this.name === "follow") this.away.copy(this.wide.position).sub(here);
    }
    this.wide.updateProjectionMatrix();
  }

  beside(here, aspect) {
    const [away, up] = SIDES[this.name].map((v) => new THREE.Vector3(...v));
    const half = this.scale / 2;
    Object.assign(this.flat, { left: -half * aspect, right: half * aspect, top: half, bottom: -half });
    this.flat.up.copy(up);
    this.flat.position.copy(here).addScaledVector(away, 100);
    this.flat.lookAt(here);
    this.flat.updateProjectionMatrix();
    // Behind the vehicle, at whole metres of the map.
    const at = here.clone().round();
    // A seabed would hide it from above, were it far behind.
    const behind = here.clone().addScaledVector(away, away.z ? -this.size : -60);
    for (const axis of "xyz") this.grids.position[axis] = away[axis] ? behind[axis] : at[axis];
  }

  // What a key does: arrows turn a following camera and move a free one, + and - bring it nearer.
  key({ key, shiftKey }) {
    const [right, up] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key] ?? [0, 0];
    const climb = { PageUp: 1, PageDown: -1 }[key] ?? 0;
    const nearer = { "+": 0.9, "=": 0.9, "-": 1 / 0.9 }[key] ?? 1;
    if (!right && !up && !climb && nearer === 1) return false;
    if (nearer !== 1) return this.zoom(nearer);
    if (!this.controls.enabled) return false;
    if (this.name === "follow" || shiftKey) this.turn(right * 0.1, up * 0.1);
    else this.walk(up * this.size / 4, right * this.size / 4, climb * this.size / 4);
    return true;
  }

  // Returns whether it could: the vehicle's own cameras cannot.
  zoom(by) {
    if (SIDES[this.name]) this.scale = Math.min(200, Math.max(this.size, this.scale * by));
    else if (this.controls.enabled) this.turn(0, 0, by);
    else return false;
    return true;
  }

  // Turns the camera about what it looks at, by angles in rad, and brings it nearer.
  turn(right, up, nearer = 1) {
    const { target } = this.controls, away = this.wide.position.clone().sub(target);
    const far = away.length();
    const bearing = Math.atan2(away.y, away.x) + right;
    const height = Math.min(1.5, Math.max(-1.5, Math.asin(away.z / far) + up));
    const level = far * Math.cos(height);
    away.set(level * Math.cos(bearing), level * Math.sin(bearing), far * Math.sin(height));
    this.wide.position.copy(target).addScaledVector(away, nearer);
  }

  // Moves the free camera: ahead, to the right and up, in m.
  walk(ahead, right, up) {
    const along = this.wide.getWorldDirection(new THREE.Vector3());
    const side = along.clone().cross(new THREE.Vector3(0, 0, 1)).normalize();
    const by = along.multiplyScalar(ahead).addScaledVector(side, right).add(new THREE.Vector3(0, 0, up));
    this.wide.position.add(by);
    this.controls.target.add(by);
  }
}
