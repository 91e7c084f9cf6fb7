// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0
//
// One ray per sample through the scene, then the light that comes back through the water.
// Places are relative to the eye, axes are those of map; colours are linear.
#version 330

uniform sampler2D rays;         // (w n, h n), n = SAMPLES: directions, map after `turn`
uniform sampler2D centres;      // (w, h) directions of the middles of pixels
uniform mat3 turn;              // v_map = turn v_camera
uniform float gain;
uniform float eye_z;            // m, map
uniform float eye_height;       // of the eye above the water's surface, m
uniform vec3 eye;               // for textures only
uniform float time;

#ifdef PLANES
uniform vec4 planes[4 * PLANES];  // each: a point, tile; normal, label; colour, unevenness; rim
#endif
uniform sampler2D surfaces;     // six texels for each obstacle and part
uniform sampler2D lists;        // for each tile: how many surfaces may be in it, their numbers,
                                // and again those that the water may mirror there
uniform int tiles_across;
uniform sampler2D meshes;       // trees of triangles, in rows of MESH_COLUMNS texels
uniform sampler2D fiducials;    // for each marker: cells along its side, then its cells
uniform sampler2D patches;      // noise
uniform sampler2D ground;       // for each cell: the heights of its corners, m, map
uniform sampler2D blocks;       // highest places of 2^level by 2^level cells
uniform vec2 ground_corner;
uniform float spacing;
uniform float top;              // highest place, relative to the eye
uniform vec4 ground_colour;     // and how uneven it is
uniform float reach;
uniform float visible;          // m from which on nothing is seen through the water

uniform vec3 diffuse;           // K, 1/m
uniform vec3 attenuation;       // c, 1/m
uniform vec3 veil;              // B at the eye
uniform vec3 veil_at_surface;
uniform float lamp;
uniform vec3 lamp_place;        // relative to the eye, map
uniform float lamp_cosine;
uniform float sun;              // share of daylight that comes straight from it
uniform float haze;             // 1/m, what particles take from that

layout(location = 0) out vec4 colour;
layout(location = 1) out vec2 measured;  // depth, label

const int LEVELS = 6;
const int MESH_COLUMNS = 4096;
const int NOTHING = 0, SURFACE = 1, TERRAIN = 2;  // labels; all above are solid too
const int OWN = 5;              // and what is above it: parts of bodies
const float TILE = 16.0;        // pixels
const float PORT = 0.05;        // m: a ray begins in what is there, water or air

struct Hit { float t; vec3 n; vec3 albedo; float uneven; float tile; int what; };

// Smooth noise, -1 to 1, about 1 wide; it repeats after 64. Slanted, so that no wall has stripes.
float noise(vec3 p) {
  return 2.0 * textureLod(patches, (p.xy + vec2(0.61, 0.83) * p.z) / 64.0, 0.0).r - 1.0;
}

// Height above the eye (x), and its slopes (y, z), bilinear between the points of the grid.
vec3 height(vec2 place) {
  ivec2 cells = textureSize(ground, 0);
  vec2 u = (place - ground_corner) / spacing;
  vec2 inside = clamp(u, vec2(0.0), vec2(cells));
  ivec2 cell = min(ivec2(inside), cells - 1);
  vec2 f = inside - vec2(cell);
  vec4 h = texelFetch(ground, cell, 0);
  vec2 slope = vec2(mix(h.y - h.x, h.w - h.z, f.y), mix(h.z - h.x, h.w - h.y, f.x)) / spacing;
  slope *= vec2(equal(inside, u));
  return vec3(mix(mix(h.x, h.y, f.x), mix(h.z, h.w, f.x), f.y) - eye_z, slope);
}

// How far on (m, negative for not at all) a ray that begins at height z above the eye meets a cell.
float meet_cell(ivec2 cell, vec2 f, vec2 change, float z, float rise, float far) {
  vec4 h = texelFetch(ground, cell, 0) - eye_z;
  float a = h.x, b = h.y, c = h.z, d = h.w;
  if (min(z, z + far * rise) > max(max(a, b), max(c, d))) return -1.0;
  float twist = d - c - b + a;
  float left = z - (a + f.x * (b - a) + f.y * (c - a) + f.x * f.y * twist);
  if (left <= 0.0) return 0.0;
  // left + B s + A s^2 is what is between the ray and the bilinear ground.
  float B = rise - (change.x * (b - a) + change.y * (c - a) + twist * (f.x * change.y + f.y * change.x));
  float A = -twist * change.x * change.y;
  float inner = B * B - 4.0 * A * left;
  if (inner < 0.0) return -1.0;
  float q = -B + (B < 0.0 ? sqrt(inner) : -sqrt(inner));  // -2 times the usual q
  float first = abs(q) > 0.0 ? 2.0 * left / q : -1.0, second = abs(A) > 1e-12 ? q / (2.0 * A) : -1.0;
  if (first < 0.0) first = 1e30;
  if (second < 0.0) second = 1e30;
  float s = min(first, second);
  return s <= far ? s : -1.0;
}

// How far on a ray comes to the first of two ends; what lies behind is none.
float leave(vec2 u, vec2 end, vec2 slow) {
  vec2 on = mix((end - u) * slow, vec2(1e30), lessThanEqual(end, u));
  return min(on.x, on.y);
}

// Down the pyramid of the highest places to a cell that the ray may meet, and up again behind what it
// passes above. Beyond the grid the heights at its edge go on, as if its cells there had no end.
// Axes along which the ray goes back are turned around, so that it goes forward along both.
void meet_ground(vec3 o, vec3 d, inout Hit hit) {
  float t = 0.0;
  if (o.z > top) {
    if (d.z >= 0.0) return;
    t = (top - o.z) / d.z;
  }
  float most = min(hit.t, reach);
  vec2 cells = vec2(textureSize(ground, 0)), all_cells = vec2(textureSize(blocks, 0));
  vec2 back = step(d.xy, vec2(0.0)), way = 1.0 - 2.0 * back, turned = back * all_cells;
  vec2 rate = max(abs(d.xy) / spacing, vec2(1e-9)), slow = 1.0 / rate;
  vec2 begin = turned + way * (o.xy - ground_corner) / spacing;
  vec2 low = back * (all_cells - cells), high = low + cells;
  bool met = false;
  int level = 2;
  for (int i = 0; i < 300 && t < most && !met; ++i) {
    bool near = false;
    for (int k = 0; k < 300 && t < most && !near; ++k) {
      float side = float(1 << level), z = o.z + t * d.z;
      vec2 u = begin + t * rate, end = clamp((floor(u / side) + 1.0) * side, low, high);
      float on = leave(u, end, slow);
      ivec2 cell = ivec2(turned + way * (clamp(floor(u), low, high - 1.0) + back));
      bool under = min(z, z + min(on, most - t) * d.z) <= texelFetch(blocks, cell >> level, level).r - eye_z;
      near = under && level == 0;
      if (!under) t += on + max(2e-5, 1e-6 * t);
      level = clamp(level + (under ? -1 : 1), 0, LEVELS);
    }
    if (near) {
      vec2 u = begin + t * rate, cell = floor(u), on_grid = clamp(cell, low, high - 1.0);
      float on = min(leave(u, clamp(cell + 1.0, low, high), slow), most - t);
      vec2 f = clamp(u - on_grid, vec2(0.0), vec2(1.0)), change = way * rate * vec2(equal(cell, on_grid));
      float found = meet_cell(ivec2(turned + way * (on_grid + back)), mix(f, 1.0 - f, back), change,
                              o.z + t * d.z, d.z, on);
      met = found >= 0.0;
      t += met ? found : on + max(2e-5, 1e-6 * t);
    }
  }
  if (!met || t >= most) return;
  vec3 h = height(o.xy + t * d.xy);
  hit = Hit(t, normalize(vec3(-h.yz, 1.0)), ground_colour.rgb, ground_colour.a, 0.0, TERRAIN);
}

// Where a ray enters (x) and leaves (y) a circle or sphere; o, d in its axes.
vec2 around(vec3 o, vec3 d, float radius) {
  float speed = dot(d, d);
  if (speed < 1e-12) return dot(o, o) <= radius * radius ? vec2(-1e30, 1e30) : vec2(1.0, -1.0);
  float middle = -dot(o, d) / speed;
  vec3 passing = o + middle * d;
  float left = radius * radius - dot(passing, passing);
  if (left < 0.0) return vec2(1.0, -1.0);
  float part = sqrt(left / speed);
  return vec2(middle - part, middle + part);
}

vec4 mesh_row(int i) { return texelFetch(meshes, ivec2(i % MESH_COLUMNS, i / MESH_COLUMNS), 0); }

#ifdef MESHES  // without any, a picture takes about a third less time on a processor
// Where a ray meets the outer sides of a mesh before t (Moeller and Trumbore 1997), or both sides of
// one that has no inside; o, d in its axes.
bool meet_mesh(int begin, bool sheet, vec3 o, vec3 d, inout float t, out vec3 n) {
  vec3 one = 1.0 / mix(d, vec3(1e-20), lessThan(abs(d), vec3(1e-20)));
  int nodes = max(int(mesh_row(begin).w), 1), triangles = begin + 2 * nodes;
  bool met = false;
  for (int i = 0; i < nodes;) {
    vec4 low = mesh_row(begin + 2 * i), high = mesh_row(begin + 2 * i + 1);
    vec3 a = (low.xyz - o) * one, b = (high.xyz - o) * one, enter = min(a, b), leave = max(a, b);
    float first = max(max(enter.x, enter.y), max(enter.z, 0.0));
    if (first > min(min(leave.x, leave.y), leave.z) + 1e-6 || first > t) {
      i = high.w < 0.0 ? int(low.w) : i + 1;
      continue;
    }
    i += 1;
    if (high.w < 0.0) continue;
    int row = triangles + 3 * int(high.w), many = -int(low.w);
    for (int k = 0; k < many; ++k, row += 3) {
      vec3 e = mesh_row(row + 1).xyz, f = mesh_row(row + 2).xyz, away = o - mesh_row(row).xyz;
      vec3 p = cross(d, f), q = cross(away, e);
      float det = dot(e, p), u = dot(away, p), v = dot(d, q), on = dot(f, q);
      float side = sheet && det < 0.0 ? -1.0 : 1.0;
      det *= side; u *= side; v *= side; on *= side;
      if (det <= 0.0 || u < 0.0 || v < 0.0 || u + v > det || on < 0.0 || on >= t * det) continue;
      t = on / det;
      n = side * cross(e, f);
      met = true;
    }
  }
  return met;
}
#endif

#ifdef FIDUCIALS
const vec3 BLACK = vec3(0.004);

// Whether a place on a marker, 0 to 1, is in one of its black cells.
bool fiducial_black(int k, vec2 place) {
  if (any(lessThan(place, vec2(0.0))) || any(greaterThanEqual(place, vec2(1.0)))) return false;
  int n = int(texelFetch(fiducials, ivec2(0, k), 0).r);
  ivec2 cell = ivec2(place * float(n));
  return texelFetch(fiducials, ivec2(1 + cell.y * n + cell.x, k), 0).r < 0.5;
}
#endif

// A part of a body is seen from outside alone: cameras sit in their housings.
void meet_surface(int k, vec3 begin, vec3 d, inout Hit hit) {
  vec4 place = texelFetch(surfaces, ivec2(0, k), 0) - vec4(begin, 0.0);
  vec4 x = texelFetch(surfaces, ivec2(1, k), 0);
  int kind = int(place.w);
  vec4 y = texelFetch(surfaces, ivec2(2, k), 0), z = texelFetch(surfaces, ivec2(3, k), 0);
  vec3 half_size = vec3(x.w, y.w, z.w);
  float ball = dot(half_size, half_size);
  vec3 near = place.xyz - dot(place.xyz, d) * d;
  if (dot(near, near) > ball) return;
  mat3 axes = mat3(x.xyz, y.xyz, z.xyz);
  vec3 o = -place.xyz * axes, v = d * axes;
  vec2 span;
  vec3 local = vec3(0.0);
  vec4 more = texelFetch(surfaces, ivec2(5, k), 0);
#ifdef MESHES
  if (kind == 4) {
    float on = min(hit.t, reach);
    if (!meet_mesh(MESH_COLUMNS * int(more.z), more.x < 0.0, o, v, on, local)) return;
    span = vec2(on);
  } else
#endif
  if (kind == 2) {
    span = around(o, v, half_size.x);
    local = o + span.x * v;
  } else {
    vec3 safe = mix(v, vec3(1e-20), lessThan(abs(v), vec3(1e-20)));
    vec3 a = (-half_size - o) / safe, b = (half_size - o) / safe;
    vec3 enter = min(a, b), leave = max(a, b);
    if (kind == 0) {
      span = vec2(max(enter.x, max(enter.y, enter.z)), min(leave.x, min(leave.y, leave.z)));
      local = vec3(equal(enter, vec3(span.x))) * -sign(v);
    } else {
      vec2 side = around(vec3(o.xy, 0.0), vec3(v.xy, 0.0), half_size.x);
      span = vec2(max(side.x, enter.z), min(side.y, leave.z));
      if (side.x > side.y) span = vec2(1.0, -1.0);
      local = side.x >= enter.z ? vec3(o.xy + side.x * v.xy, 0.0) : vec3(0.0, 0.0, -sign(v.z));
    }
  }
  if (span.x > span.y || span.y < 0.0 || (int(more.y) % 256 >= OWN && span.x < 0.0)) return;
  float t = max(span.x, 0.0);
  vec3 n = axes * normalize(local);
  if (t >= hit.t || t > reach) return;
  vec4 matter = texelFetch(surfaces, ivec2(4, k), 0), own = texelFetch(surfaces, ivec2(5, k), 0);
#ifdef FIDUCIALS
  if (kind == 0 && own.w > 0.0 && dot(n, x.xyz) > 0.5) {
    vec3 y = texelFetch(surfaces, ivec2(2, k), 0).xyz, z = texelFetch(surfaces, ivec2(3, k), 0).xyz;
    vec3 on = t * d - place.xyz;
    // From the left to the right and down, of who looks at the face.
    if (fiducial_black(int(own.w) - 1, vec2(dot(on, y), -dot(on, z)) / own.z + 0.5)) matter.rgb = BLACK;
  }
#endif
  hit = Hit(t, n, matter.rgb, matter.a, max(own.x, 0.0), int(own.y));
}

// Of what may be in a tile, from its row of the lists.
float listed(int i) {
  ivec2 tile = ivec2(gl_FragCoord.xy / TILE);
  return texelFetch(lists, ivec2(i, tile.y * tiles_across + tile.x), 0).r;
}

void meet_surfaces(int first, vec3 o, vec3 d, inout Hit hit) {
  int most = int(listed(first));
  for (int i = 1; i <= most; ++i) meet_surface(int(listed(first + i)), o, d, hit);
}

// Height of the eye above the water before the camera's port; small waves there bend the line of a
// picture that is half under water.
float above_water(vec3 d) {
  if (abs(eye_height) > 2.0 * PORT) return eye_height;
  vec2 p = eye.xy + PORT * d.xy;
  return eye_height - 0.002 * sin(7.9 * p.x - 5.2 * p.y - 3.0 * time) - 0.002 * sin(43.7 * p.y + 34.3 * p.x + 9.8 * time);
}

#ifdef PLANES
// Where a ray enters (x) and leaves (y) height + t rise <= 0.
vec2 half_space(float height, float rise) {
  float at = rise == 0.0 ? 1e30 : -height / rise;
  return vec2(rise < 0.0 ? at : (height <= 0.0 ? -1e30 : 1e30), rise > 0.0 ? at : 1e30);
}

// What is solid behind a plane has a level top at its rim. Unrolled: numbers of uniforms that a compiler knows cost nothing, and fetched ones much.
void meet_planes(vec3 begin, vec3 d, inout Hit hit) {
  for (int k = 0; k < PLANES; ++k) {
    vec4 place = planes[4 * k], normal = planes[4 * k + 1], matter = planes[4 * k + 2];
    vec2 side = half_space(dot(begin - place.xyz, normal.xyz), dot(d, normal.xyz));
    vec2 top = half_space(begin.z - planes[4 * k + 3].x, d.z);
    float enter = max(side.x, top.x), leave = min(side.y, top.y), t = max(enter, 0.0);
    if (enter > leave || leave < 0.0 || t >= hit.t || t > reach) continue;
    vec3 n = top.x > side.x ? vec3(0.0, 0.0, 1.0) : normal.xyz;
    hit = Hit(t, n, matter.rgb, matter.a, place.w, int(normal.w));
  }
}
#endif

// What a ray of a pixel meets first. A processor computes both sides of a branch, and slows down
// where a shader has a loop: what a tile cannot show is left out of the shader that draws it.
Hit meet_first(vec3 d) {
  Hit hit = Hit(1e30, vec3(0.0), vec3(0.0), 0.0, 0.0, NOTHING);
#ifdef PLANES
  meet_planes(vec3(0.0), d, hit);
#endif
#ifdef SURFACES
  meet_surfaces(0, vec3(0.0), d, hit);
#endif
#ifdef GROUND_AHEAD
  meet_ground(vec3(0.0), d, hit);
#endif
  float t = d.z == 0.0 ? -1.0 : -above_water(d) / d.z;
  if (t > PORT && t < min(hit.t, reach))
    hit = Hit(t, vec3(0.0, 0.0, -sign(d.z)), vec3(0.0), 0.0, 0.0, SURFACE);
  return hit;
}

vec3 sky(vec3 d) { return mix(vec3(0.85, 0.92, 1.0), vec3(0.45, 0.65, 1.0), clamp(d.z, 0.0, 1.0)); }

#ifdef SUN
const int WAVES = 6;
const vec4 RIPPLES[WAVES] = vec4[WAVES](  // wave vector, 1/m; angular frequency, 1/s; phase
  vec4(5.9, 3.7, 8.3, 0.3), vec4(-4.3, 9.2, 10.0, 1.9), vec4(12.9, -5.6, 11.7, 4.0),
  vec4(3.1, 18.6, 13.6, 2.7), vec4(-20.4, 11.1, 15.1, 5.2), vec4(26.7, 13.2, 17.1, 1.1));
const float STEEP = 0.05;       // slope of each wave
const vec2 SLANT = vec2(0.25, 0.12);  // of the sun's rays in the water

// Daylight below rippled water over its mean: rays that meet the surface at p go on to p - f grad h(p),
// f = (1 - 1/1.34) D, so what falls on an area is 1/det(1 - f hess h). Beyond the first focus the
// pattern is that of the focus. The sun's width and scattering blur it: 0.012 rad, an assumption.
float caustics(vec3 place, float D) {
  float most = 0.0, width = 0.012 * D, f = (1.0 - 1.0 / 1.34) * D;
  float strength[WAVES];
  for (int i = 0; i < WAVES; ++i) {
    float k = length(RIPPLES[i].xy);
    strength[i] = STEEP / k * exp(-0.5 * k * k * width * width);
    most += strength[i] * k * k;
  }
  f = 0.9 / most * tanh(f * most / 0.9);
  vec2 x = place.xy + D * SLANT, p = x;
  for (int round = 0; round < 3; ++round) {
    vec2 slope = vec2(0.0);
    for (int i = 0; i < WAVES; ++i)
      slope += strength[i] * RIPPLES[i].xy * cos(dot(RIPPLES[i].xy, p) - RIPPLES[i].z * time + RIPPLES[i].w);
    p = x + f * slope;
  }
  float xx = 1.0, yy = 1.0, xy = 0.0;
  for (int i = 0; i < WAVES; ++i) {
    vec2 k = RIPPLES[i].xy;
    float bend = f * strength[i] * sin(dot(k, p) - RIPPLES[i].z * time + RIPPLES[i].w);
    xx += bend * k.x * k.x;
    yy += bend * k.y * k.y;
    xy += bend * k.x * k.y;
  }
  return 1.0 / max(xx * yy - xy * xy, 0.05);
}
#endif

// Unevenness is for the eye alone; steel, black and white have none.
vec3 shade(Hit hit, vec3 o, vec3 d) {
  vec3 here = o + hit.t * d, place = eye + here;
  float light = 1.0;
  if (hit.uneven > 0.0) {
    float fine = exp(-hit.t / 5.0);
    light += hit.uneven * (0.6 * noise(2.3 * place) + fine * 0.7 * noise(19.0 * place));
  }
  if (hit.tile > 0.0) {
    vec3 along = abs(fract(place / hit.tile) - 0.5) + abs(hit.n);
    vec3 joint = smoothstep(0.48, 0.49, along) * step(abs(hit.n), vec3(0.5));
    light *= 1.0 - 0.35 * exp(-hit.t / 20.0) * max(joint.x, max(joint.y, joint.z));
  }
  float depth_here = max(-(eye_height + here.z), 0.0);
  vec3 lit = exp(-diffuse * depth_here) * (0.2 + 0.4 * (1.0 + hit.n.z));
#ifdef SUN
  if (eye_height + here.z < 0.0) {
    float straight = sun * exp(-haze * depth_here) * 0.5 * (1.0 + hit.n.z);
    lit *= 1.0 + straight * (caustics(place, depth_here) - 1.0);
  }
#endif
  if (lamp > 0.0) {
    vec3 way = here - lamp_place;
    float far = max(length(way), 0.05);
    vec3 to = way / far;
    float beam = max((dot(to, turn[2]) - lamp_cosine) / (1.0 - lamp_cosine), 0.0);
    lit += lamp * beam * max(-dot(to, hit.n), 0.0) / (far * far) * exp(-attenuation * far);
  }
  return hit.albedo * light * lit;
}

float fresnel(float cosine, float ratio) {
  float sine2 = ratio * ratio * (1.0 - cosine * cosine);
  if (sine2 >= 1.0) return 1.0;
  float other = sqrt(1.0 - sine2);
  float s = (ratio * cosine - other) / (ratio * cosine + other);
  float p = (ratio * other - cosine) / (ratio * other + cosine);
  return 0.5 * (s * s + p * p);
}

#ifdef MIRROR
// What a ray from a place below the surface, relative to the eye, meets first before t.
Hit meet_again(vec3 o, vec3 d, float t) {
  Hit hit = Hit(t, vec3(0.0), vec3(0.0), 0.0, 0.0, NOTHING);
#ifdef PLANES
  meet_planes(o, d, hit);
#endif
#ifdef MIRRORED
  meet_surfaces(textureSize(lists, 0).x / 2, o, d, hit);
#endif
#ifdef GROUND
  meet_ground(o, d, hit);
#endif
  return hit;
}

// What comes back from the water's surface: from below it mirrors, or shows the sky; from above it
// mirrors the sky, or shows what is below. Ripples turn the normal of the surface, not its place.
struct Back { Hit hit; vec3 o; vec3 d; float share; vec3 sky; };

Back water_surface(Hit hit, vec3 d) {
  vec2 p = eye.xy + hit.t * d.xy;
  vec2 slope = 0.035 * vec2(cos(3.1 * p.x + 1.3 * p.y + 1.9 * time), cos(2.3 * p.y - 1.1 * p.x + 1.6 * time))
             + 0.03 * vec2(cos(7.9 * p.x - 5.2 * p.y - 3.0 * time), cos(6.7 * p.y + 4.3 * p.x + 2.8 * time));
  slope *= exp(-hit.t / 25.0);
  vec3 n = normalize(vec3(-slope, 1.0)) * hit.n.z;
  bool below = hit.n.z < 0.0;
  float ratio = below ? 1.34 : 1.0 / 1.34, share = fresnel(max(-dot(d, n), 0.0), ratio);
  vec3 mirrored = reflect(d, n), through = refract(d, n, ratio);
  vec3 on = below ? mirrored : through, o = hit.t * d - vec3(0.0, 0.0, 1e-4);
  on.z = min(on.z, -0.001);
  Hit other = meet_again(o, on, max(visible - (below ? hit.t : 0.0), 0.0));
  return Back(other, o, on, below ? share : 1.0 - share, sky(below ? through : mirrored));
}
#endif

vec3 seen(Hit hit, vec3 d) {
  bool under = above_water(d) + PORT * d.z < 0.0;
  vec3 light = under ? veil : sky(d);
#ifdef MIRROR  // else the water's surface is too far away to be seen
  Back back = Back(hit, vec3(0.0), d, 1.0, vec3(0.0));
  if (hit.what == SURFACE) back = water_surface(hit, d);
  if (hit.what != NOTHING) {
    light = veil_at_surface;
    if (back.hit.what >= TERRAIN) light = shade(back.hit, back.o, back.d);
    if (hit.what == SURFACE) {
      vec3 left = exp(-attenuation * back.hit.t);
      light = mix(back.sky, mix(veil_at_surface, light, left), back.share);
    }
  }
#else
  if (hit.what < TERRAIN) return light;
  light = shade(hit, vec3(0.0), d);
#endif
  if (!under || hit.what == NOTHING) return light;
  return mix(veil, light, exp(-attenuation * hit.t));
}

vec3 encoded(vec3 linear) {  // IEC 61966-2-1
  vec3 v = clamp(linear, 0.0, 1.0);
  return mix(1.055 * pow(v, vec3(1.0 / 2.4)) - 0.055, 12.92 * v, lessThanEqual(v, vec3(0.0031308)));
}

// With one sample for each pixel its ray is the one of the depth too.
void main() {
  ivec2 pixel = ivec2(gl_FragCoord.xy);
  int all_samples = SAMPLES * SAMPLES, rounds = SAMPLES > 1 ? all_samples + 1 : 1;
  vec3 sum = vec3(0.0);
  for (int i = 0; i < rounds; ++i) {
    ivec2 own = SAMPLES * pixel + ivec2(i % SAMPLES, i / SAMPLES);
    vec3 ray = i < all_samples ? texelFetch(rays, own, 0).xyz : texelFetch(centres, pixel, 0).xyz;
    vec3 d = turn * ray;
    Hit hit = meet_first(d);
    if (i < all_samples) sum += seen(hit, d);
    measured = vec2(hit.what == NOTHING ? uintBitsToFloat(0x7f800000u) : hit.t * ray.z, hit.what);
  }
  colour = vec4(encoded(gain * sum / float(all_samples)), 1.0);
}
