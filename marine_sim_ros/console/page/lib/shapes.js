// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

// Shapes of a scenery as three.js objects.

import { THREE } from "nicegui-scene";
import { byName, numbers } from "./connection.js";

const paint = (rgb) => new THREE.Color().setRGB(rgb[0], rgb[1], rgb[2], THREE.SRGBColorSpace);

// Triangles that share their equal corners, which are drawn faster; for materials of flat faces.
function triangles(corners) {
  const shape = new THREE.BufferGeometry(), numbers = new Map(), index = [], at = [];
  for (let i = 0; i < corners.length; i += 3) {
    const [x, y, z] = corners.subarray(i, i + 3), key = `${x} ${y} ${z}`;
    if (!numbers.has(key)) {
      numbers.set(key, numbers.size);
      at.push(x, y, z);
    }
    index.push(numbers.get(key));
  }
  shape.setAttribute("position", new THREE.Float32BufferAttribute(at, 3));
  shape.setIndex(index);
  return shape;
}

function geometry(item) {
  const [a, b, c] = item.size ?? [];
  if (item.kind === "box") return new THREE.BoxGeometry(a, b, c);
  if (item.kind === "sphere") return new THREE.SphereGeometry(a, 24, 16);
  if (item.kind === "mesh") return triangles(numbers(item.corners));
  // URDF has cylinders along z, three.js along y.
  return new THREE.CylinderGeometry(a, a, b, 28).rotateX(Math.PI / 2);
}

function place(object, item) {
  if (item.at) object.position.set(...item.at);
  if (item.turn) object.quaternion.set(...item.turn);
  return object;
}

function visual(item) {
  const alpha = item.colour[3] ?? 1;
  const material = new THREE.MeshLambertMaterial({
    color: paint(item.colour), flatShading: item.kind === "mesh",
    transparent: alpha < 1, opacity: alpha, side: item.kind === "mesh" && !item.closed ? THREE.DoubleSide : THREE.FrontSide,
  });
  const mesh = new THREE.Mesh(geometry(item), material);
  mesh.userData.alpha = alpha;
  return place(mesh, item);
}

// A cable through places in the map: a line, which is seen from far away too, in a tube.
export class Tether {
  constructor(radius) {
    this.radius = radius;
    this.line = new THREE.Line(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: 0xf2c200 }));
    this.tube = new THREE.Mesh(new THREE.BufferGeometry(), new THREE.MeshLambertMaterial({ color: 0xf2c200 }));
    this.object = new THREE.Group().add(this.line, this.tube);
  }

  set(places) {
    this.object.visible = places.length > 1;
    if (!this.object.visible) return;
    const curve = new THREE.CatmullRomCurve3(places.map((place) => new THREE.Vector3(...place)));
    const pieces = 4 * (places.length - 1);
    for (const one of [this.line, this.tube]) one.geometry.dispose();
    this.line.geometry = new THREE.BufferGeometry().setFromPoints(curve.getPoints(pieces));
    this.tube.geometry = new THREE.TubeGeometry(curve, pieces, this.radius, 6);
  }
}

// The outlines of a lesson's tasks, coloured by their states.
const STATES = { waiting: 0x78909c, running: 0xff6d00, done: 0x2e9e5b, failed: 0xd32f2f };

export class Targets {
  constructor(tasks) {
    this.object = new THREE.Group();
    this.materials = tasks.map(({ lines }) => {
      const material = new THREE.LineBasicMaterial({ color: STATES.waiting, fog: false });
      for (const line of lines) {
        const points = line.map((point) => new THREE.Vector3(...point));
        this.object.add(new THREE.Line(new THREE.BufferGeometry().setFromPoints(points), material));
      }
      return material;
    });
  }

  set(tasks) {
    tasks.forEach(({ state }, i) => this.materials[i]?.color.set(STATES[state]));
  }
}

// Lets one see through a vehicle's skin, or not.
export function glass(body, on) {
  body.traverse(({ material, userData }) => {
    if (userData.alpha === undefined) return;
    material.opacity = on ? Math.min(0.25, userData.alpha) : userData.alpha;
    material.transparent = material.opacity < 1;
    material.depthWrite = !on;
    material.needsUpdate = true;
  });
}

// The vehicle: a group with a group for each link, and what moves them.
export function vehicle(look) {
  const body = new THREE.Group();
  const links = byName({ base_link: body });
  const joints = byName();
  for (const link of look.links) {
    const group = link.name === "base_link" ? body : new THREE.Group();
    links[link.name] = group;
    for (const item of link.visuals ?? []) group.add(visual(item));
    if (group === body) continue;
    const mount = place(new THREE.Group(), link);
    mount.add(group);
    links[link.parent].add(mount);
    if (link.joint) {
      const axis = new THREE.Vector3(...link.joint.axis).normalize();
      joints[link.joint.name] = (q) => link.joint.kind === "prismatic"
        ? group.position.copy(axis).multiplyScalar(q)
        : group.quaternion.setFromAxisAngle(axis, q);
    }
  }
  return { body, links, joints };
}

// Adds a box around a link's own shapes, along its axes; returns it.
export function boxed(link) {
  const box = new THREE.Box3();
  for (const mesh of link.children.filter((child) => child.isMesh)) {
    mesh.updateMatrix();
    mesh.geometry.computeBoundingBox();
    box.union(mesh.geometry.boundingBox.clone().applyMatrix4(mesh.matrix));
  }
  const edges = new THREE.Group();
  if (!box.isEmpty()) edges.add(new THREE.Box3Helper(box, 0xffc400));
  link.add(edges);
  return edges;
}

function ring(radius) {
  return new THREE.TorusGeometry(radius, radius / 7, 8, 24);
}

// Where the thrusters sit and push: a ring and a short axis each.
export function thrusters(look, size) {
  const group = new THREE.Group();
  for (const one of look.thrusters) {
    const mark = new THREE.Mesh(ring(size * 0.09), new THREE.MeshLambertMaterial({ color: 0x20262c }));
    mark.position.set(...one.at);
    mark.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), new THREE.Vector3(...one.axis));
    group.add(mark);
  }
  return group;
}

// Stands for a vehicle that is too small to be seen from above, and points ahead.
export function pointer() {
  const shape = triangles(new Float32Array([1, 0, 0, -0.8, 0.7, 0, -0.45, 0, 0, 1, 0, 0, -0.45, 0, 0, -0.8, -0.7, 0]));
  const material = new THREE.MeshBasicMaterial({ color: 0x0d47a1, side: THREE.DoubleSide, depthTest: false, transparent: true });
  const found = new THREE.Mesh(shape, material);
  found.renderOrder = 4;
  found.visible = false;
  return found;
}

export function voxels(found) {
  const centers = numbers(found.centers);
  const side = found.size * 0.55;
  const material = new THREE.MeshLambertMaterial({ color: 0x2f7fd6, transparent: true, opacity: 0.55 });
  const mesh = new THREE.InstancedMesh(new THREE.BoxGeometry(side, side, side), material, centers.length / 3);
  const at = new THREE.Matrix4();
  for (let i = 0; i < centers.length / 3; i++) {
    mesh.setMatrixAt(i, at.makeTranslation(centers[3 * i], centers[3 * i + 1], centers[3 * i + 2]));
  }
  return mesh;
}

function fan(corners) {
  const found = [];
  for (let i = 1; i < corners.length / 3 - 1; i++) {
    for (const k of [0, i, i + 1]) found.push(corners[3 * k], corners[3 * k + 1], corners[3 * k + 2]);
  }
  return triangles(new Float32Array(found));
}

// A texture of one square metre, with a line around it; far lines blend with what is between.
function squares(colour, see) {
  const side = 64, canvas = document.createElement("canvas");
  canvas.width = canvas.height = side;
  const brush = canvas.getContext("2d"), inside = colour.getStyle(), line = colour.clone().multiplyScalar(0.35).getStyle();
  for (const [style, alpha, edge] of [[line, Math.max(see, 0.5), 0], [inside, see, 0.5]]) {
    brush.clearRect(edge, edge, side - 2 * edge, side - 2 * edge);
    brush.globalAlpha = alpha;
    brush.fillStyle = style;
    brush.fillRect(edge, edge, side - 2 * edge, side - 2 * edge);
  }
  const map = new THREE.CanvasTexture(canvas);
  map.colorSpace = THREE.SRGBColorSpace;
  map.wrapS = map.wrapT = THREE.RepeatWrapping;
  return map;
}

// Gives a level shape texture coordinates in m along two axes of its plane, from the map's origin.
function withMetres(shape) {
  const { position } = shape.attributes, corner = (i) => new THREE.Vector3().fromBufferAttribute(position, i);
  const up = new THREE.Triangle(corner(0), corner(1), corner(2)).getNormal(new THREE.Vector3());
  const first = new THREE.Vector3(...(Math.abs(up.x) > 0.9 ? [0, 1, 0] : [1, 0, 0])).projectOnPlane(up).normalize();
  const second = up.clone().cross(first), metres = [];
  for (let i = 0; i < position.count; i++) metres.push(corner(i).dot(first), corner(i).dot(second));
  shape.setAttribute("uv", new THREE.Float32BufferAttribute(metres, 2));
  return shape;
}

// Large surfaces are divided into squares, so that those out of sight cost nothing.
const BLOCK = 12; // m, and cells of a terrain
const LARGE = 2000; // triangles
const FAR = 30; // m from which on a terrain is drawn with a quarter of its points along each side

// Some triangles of a shape, as a mesh with bounds of its own.
function piece(whole, faces, material) {
  const part = new THREE.BufferGeometry();
  for (const [name, values] of Object.entries(whole.attributes)) part.setAttribute(name, values);
  part.setIndex(faces);
  const corners = faces.map((i) => new THREE.Vector3().fromBufferAttribute(whole.attributes.position, i));
  part.boundingSphere = new THREE.Sphere().setFromPoints(corners);
  return new THREE.Mesh(part, material);
}

function blocks(mesh) {
  const { geometry: { index: { array: index }, attributes: { position: at } } } = mesh;
  if (index.length < 3 * LARGE) return mesh;
  const found = new Map();
  for (let i = 0; i < index.length; i += 3) {
    const square = `${Math.floor(at.getX(index[i]) / BLOCK)} ${Math.floor(at.getY(index[i]) / BLOCK)}`;
    if (!found.has(square)) found.set(square, []);
    found.get(square).push(...index.subarray(i, i + 3));
  }
  const group = new THREE.Group();
  for (const faces of found.values()) group.add(piece(mesh.geometry, faces, mesh.material));
  group.position.copy(mesh.position);
  group.quaternion.copy(mesh.quaternion);
  return group;
}

function terrain(found) {
  const heights = numbers(found.heights);
  const corners = new Float32Array(3 * heights.length);
  const colours = new Float32Array(3 * heights.length);
  const low = heights.reduce((a, b) => Math.min(a, b));
  const high = heights.reduce((a, b) => Math.max(a, b));
  for (let r = 0; r < found.rows; r++) {
    for (let c = 0; c < found.columns; c++) {
      const i = r * found.columns + c;
      corners.set([found.origin[0] + c * found.spacing, found.origin[1] + r * found.spacing, heights[i]], 3 * i);
      const light = 0.65 + 0.35 * (heights[i] - low) / Math.max(high - low, 1e-9);
      colours.set(paint(found.colour).multiplyScalar(light).toArray(), 3 * i);
    }
  }
  const shape = new THREE.BufferGeometry();
  shape.setAttribute("position", new THREE.BufferAttribute(corners, 3));
  shape.setAttribute("color", new THREE.BufferAttribute(colours, 3));
  const last = [found.rows - 1, found.columns - 1];
  // Triangles of the cells from a row and a column on, by steps of so many cells. Coarse ones reach a
  // step below their neighbours, so that one does not see through between them.
  const cells = (row, column, reach, step) => {
    const faces = [], over = step > 1 ? step : 0;
    const rows = Math.min(row + reach + over, last[0]), columns = Math.min(column + reach + over, last[1]);
    for (let r = Math.max(0, row - over); r < rows; r += step) {
      for (let c = Math.max(0, column - over); c < columns; c += step) {
        const [r2, c2] = [Math.min(r + step, rows), Math.min(c + step, columns)];
        const [a, b, d, e] = [[r, c], [r, c2], [r2, c], [r2, c2]].map(([i, k]) => i * found.columns + k);
        faces.push(a, b, e, a, e, d);
      }
    }
    return faces;
  };
  shape.setIndex(cells(0, 0, Infinity, 1));
  shape.computeVertexNormals();
  const material = new THREE.MeshLambertMaterial({ vertexColors: true }), group = new THREE.Group();
  for (let r = 0; r < last[0]; r += BLOCK) {
    for (let c = 0; c < last[1]; c += BLOCK) {
      const block = new THREE.LOD(), fine = piece(shape, cells(r, c, BLOCK, 1), material);
      const coarse = piece(shape, cells(r, c, BLOCK, 4), material);
      block.position.copy(fine.geometry.boundingSphere.center); // from which its distance is measured
      for (const mesh of [fine, coarse]) mesh.position.copy(block.position).negate();
      block.addLevel(fine, 0).addLevel(coarse, FAR);
      group.add(block);
    }
  }
  return group;
}

function obstacle(item) {
  if (item.kind === "mesh") return blocks(visual(item));
  const [x, y, z] = item.size;
  const size = { box: item.size, cylinder: [x / 2, z], sphere: [x / 2] }[item.kind];
  return visual({ ...item, size });
}

// Seabed, walls and obstacles; never moves.
export function solids(around) {
  const group = new THREE.Group();
  for (const plane of around.planes) {
    const see = plane.ground ? 1 : 0.22;
    const material = new THREE.MeshLambertMaterial({
      map: squares(paint(plane.colour), see), side: THREE.DoubleSide, flatShading: true,
      transparent: see < 1, depthWrite: see === 1,
    });
    group.add(new THREE.Mesh(withMetres(fan(numbers(plane.corners))), material));
  }
  if (around.terrain) group.add(terrain(around.terrain));
  for (const item of around.obstacles) group.add(obstacle(item));
  return group;
}

// A free body, which frames move.
export function loose(body) {
  const { body: group } = vehicle(body);
  for (const item of body.obstacles) group.add(obstacle(item));
  moveTo(group, [...body.at, ...body.turn]);
  return group;
}

// Puts a group to a place and a quaternion, seven numbers.
export function moveTo(group, pose) {
  if (pose.includes(null)) return;
  group.position.set(...pose.slice(0, 3));
  group.quaternion.set(...pose.slice(3));
}

// The water's surface, with the waves of the run. Its outer cells grow, so that it ends in the haze.
export class Water {
  constructor(waves, step = 1.2, cells = 40, even = 12, growth = 1.6) {
    this.waves = waves;
    this.shape = new THREE.PlaneGeometry(cells, cells, cells, cells);
    const reach = (i) => {
      const outer = Math.max(0, Math.abs(i) - even);
      return Math.sign(i) * step * (Math.abs(i) - outer + growth * (growth ** outer - 1) / (growth - 1));
    };
    const { array } = this.shape.attributes.position;
    array.forEach((x, k) => { array[k] = reach(Math.round(x)); });
    this.flat = array.slice();
    this.step = step;
    const material = new THREE.MeshLambertMaterial({
      color: 0x5fb4dc, transparent: true, opacity: 0.34, side: THREE.DoubleSide,
      depthWrite: false, flatShading: waves.length > 0,
    });
    this.object = new THREE.Mesh(this.shape, material);
    this.object.renderOrder = 2;
    if (waves.length) this.object.add(this.mesh(cells));
  }

  // Lines from cell to cell, by which one sees the waves.
  mesh(cells) {
    const ends = [], row = cells + 1;
    for (let i = 0; i < row; i++) {
      for (let k = 0; k < cells; k++) ends.push(i * row + k, i * row + k + 1, k * row + i, (k + 1) * row + i);
    }
    const shape = new THREE.BufferGeometry();
    shape.setAttribute("position", this.shape.attributes.position);
    shape.setIndex(ends);
    const found = new THREE.LineSegments(shape, new THREE.LineBasicMaterial({ color: 0xffffff, transparent: true, opacity: 0.4 }));
    found.frustumCulled = false; // its bounds would be those of calm water
    return found;
  }

  update(time, x, y) {
    // It goes with the vehicle by whole cells, so that its corners do not swim.
    const east = Math.round(x / this.step) * this.step, north = Math.round(y / this.step) * this.step;
    this.object.position.set(east, north, 0);
    if (!this.waves.length) return;
    const at = this.shape.attributes.position;
    for (let i = 0; i < at.count; i++) {
      const px = this.flat[3 * i] + east, py = this.flat[3 * i + 1] + north;
      let height = 0;
      for (const [kx, ky, omega, phase, amplitude] of this.waves) {
        height += amplitude * Math.cos(kx * px + ky * py - omega * time + phase);
      }
      at.array[3 * i + 2] = height;
    }
    at.needsUpdate = true;
  }
}

// A soft disc, exp(-r²/2σ²) out to 3 σ.
function softDisc() {
  const side = 64, half = side / 2, canvas = document.createElement("canvas");
  canvas.width = canvas.height = side;
  const brush = canvas.getContext("2d"), disc = brush.createRadialGradient(half, half, 0, half, half, half);
  for (let i = 0; i <= 8; i++) disc.addColorStop(i / 8, `rgba(255, 255, 255, ${(i < 8 ? Math.exp(-4.5 * (i / 8) ** 2) : 0).toFixed(3)})`);
  brush.fillStyle = disc;
  brush.fillRect(0, 0, side, side);
  return new THREE.CanvasTexture(canvas);
}

// Particles that drift with the water around the vehicle: what goes by tells that one moves.
export class Particles {
  constructor(reach = 7, count = 700) {
    this.reach = reach;
    this.drift = [0, 0, 0];
    this.seeds = Float32Array.from({ length: 3 * count }, () => 2 * reach * Math.random());
    this.shape = new THREE.BufferGeometry();
    this.shape.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * count), 3));
    const material = new THREE.PointsMaterial({ color: 0xf4fbff, size: 0.05, map: softDisc(), transparent: true, opacity: 0.8, depthWrite: false });
    this.object = new THREE.Points(this.shape, material);
    this.object.frustumCulled = false; // its bounds move
  }

  // Moves on by a time (s) in a current (m/s); the box of particles stays around a place.
  update(step, current, center) {
    for (let k = 0; k < 3; k++) this.drift[k] += step * current[k];
    const at = this.shape.attributes.position, side = 2 * this.reach;
    for (let i = 0; i < at.array.length; i++) {
      const k = i % 3, low = center[k] - this.reach;
      const from = this.seeds[i] + this.drift[k] - low;
      at.array[i] = low + from - side * Math.floor(from / side);
      if (k === 2 && at.array[i] > 0) at.array[i] = -1e3; // none in the air
    }
    at.needsUpdate = true;
  }
}

// Clouds of silt: soft discs towards the camera, as opaque as a ray through their middle.
export class Silt {
  constructor() {
    this.object = new THREE.Group();
    this.map = softDisc();
    this.clouds = [];
  }

  set(clouds) {
    this.clouds = clouds;
    while (this.object.children.length < clouds.length) {
      this.object.add(new THREE.Sprite(new THREE.SpriteMaterial({ map: this.map, color: 0xd8d2c4, depthWrite: false })));
    }
    this.object.children.forEach((sprite, i) => {
      sprite.visible = i < clouds.length;
      if (!sprite.visible) return;
      const [x, y, z, size, depth] = clouds[i];
      sprite.position.set(x, y, z);
      sprite.scale.setScalar(6 * size);
      sprite.material.opacity = 1 - Math.exp(-depth);
    });
  }

  // Attenuation at a place, 1/m, where the clouds are around the eye.
  at(place) {
    return this.clouds.reduce((sum, [x, y, z, size, depth]) => {
      const far = (place.x - x) ** 2 + (place.y - y) ** 2 + (place.z - z) ** 2;
      return sum + depth / (size * Math.sqrt(2 * Math.PI)) * Math.exp(-far / (2 * size * size));
    }, 0);
  }
}

// An arrow whose length can change: from a point along a vector.
export class Arrow {
  constructor(colour, thick) {
    const material = new THREE.MeshLambertMaterial({
      color: paint(colour), emissive: paint(colour), emissiveIntensity: 0.35, depthTest: false,
    });
    this.object = new THREE.Group();
    this.shaft = new THREE.Mesh(new THREE.CylinderGeometry(thick, thick, 1, 10).translate(0, 0.5, 0), material);
    this.head = new THREE.Mesh(new THREE.ConeGeometry(3 * thick, 7 * thick, 14), material);
    this.shaft.renderOrder = this.head.renderOrder = 3;
    this.thick = thick;
    this.object.add(this.shaft, this.head);
    this.object.visible = false;
  }

  set(from, along) {
    const length = along.length();
    this.object.visible = length > 4 * this.thick;
    if (!this.object.visible) return;
    this.object.position.copy(from);
    this.object.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), along.clone().divideScalar(length));
    const shaft = Math.max(length - 7 * this.thick, 1e-3);
    this.shaft.scale.set(1, shaft, 1);
    this.head.position.set(0, shaft + 3.5 * this.thick, 0);
  }
}
