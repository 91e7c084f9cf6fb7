# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Renders what a camera sees, off screen, with OpenGL: one ray per sample in a fragment shader.

A ray per pixel, in place of triangles, shows every distortion exactly and meets the same surfaces
as :mod:`marine_sim_ros.environment.rays`. EGL gives the context, so no display is needed: the
driver of a graphics card, or Mesa's llvmpipe on the processor.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from marine_sim_ros.core.errors import MissingPackageError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.scene.colours import colour
from marine_sim_ros.scene.fiducials import Fiducial
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap
from marine_sim_ros.sensors.fiducials import fiducial_rows
from marine_sim_ros.sensors.lenses import Lens
from marine_sim_ros.sensors.seen_parts import SeenPart, seen_parts
from marine_sim_ros.sensors.triangles import trees_of
from marine_sim_ros.sensors.view import View

__all__ = ['linear_colour', 'render']

REACH = 200.0
"""m that rays go."""
_KINDS = {'box': 0, 'cylinder': 1, 'sphere': 2, 'mesh': 4}
_PLANE = 3
_MESH_COLUMNS = 1024
"""Of the texture of meshes, as in the shader."""
_BLOCK = 8
"""Cells along each side of a block of the terrain, as in the shader."""
_UNEVEN = {'sand': 0.3, 'rock': 0.5, 'concrete': 0.1}
"""Change of brightness over a surface, its share."""
_TILE = {'concrete': 0.5}
"""m, of planes."""
_TEXTURES = ('rays', 'centres', 'surfaces', 'ground', 'blocks', 'meshes', 'fiducials')
_VERTEX = 'in vec2 p; void main() { gl_Position = vec4(p, 0, 1); }'
_NEEDS = (
    'camera: no OpenGL 3.3 without a display; expected: the driver of a graphics card, or Mesa: '
    'apt install libegl1 libgl1-mesa-dri'
)


def render(
    lens: Lens, samples: int, environment: Environment, view: View
) -> tuple[np.ndarray, np.ndarray]:
    """Return an image (h, w, 3) uint8, sRGB, and the depths (h, w) along the axis, m.

    The depth is that of the middle of a pixel, infinite where it sees nothing within 200 m; the
    water's surface is something. What is seen through the surface is sky.

    Args:
        lens: of the camera.
        samples: rays of a pixel along each side.
        environment: scene and water.
        view: where from.

    Raises:
        MissingPackageError: moderngl or OpenGL is missing.
        ParameterError: the lens folds the image.
    """
    renderers = _own.__dict__.setdefault('renderers', {})
    key = (lens, samples)
    if key not in renderers:
        renderers[key] = _Renderer(lens, samples)
    image, depth = renderers[key].render(environment, view)
    return image, depth


_own = threading.local()
"""A context of OpenGL is of one thread."""


def _context() -> Any:
    if not hasattr(_own, 'context'):
        moderngl = require('moderngl', 'camera')
        try:
            context = moderngl.create_context(standalone=True, backend='egl', require=330)
        except Exception as error:  # of every kind, by what is missing
            raise MissingPackageError(f'{_NEEDS} ({error})') from None
        context.gc_mode = 'auto'
        _own.context = context
    return _own.context


@lru_cache(maxsize=64)
def linear_colour(material: str) -> tuple[float, ...]:
    """Return red, green and blue of a material, linear: the share of light that it sends back."""
    return tuple(_linear(np.array(colour(material))).tolist())


def _linear(values: np.ndarray) -> np.ndarray:
    """Return the linear light of sRGB values, 0 to 1 (IEC 61966-2-1)."""
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _rays(lens: Lens, samples: int) -> np.ndarray:
    """Return the directions (h n, w n, 3) of n by n samples of each pixel."""
    across, down = (
        (np.arange(count * samples) + 0.5) / samples - 0.5 for count in (lens.width, lens.height)
    )
    return lens.directions(np.stack(np.meshgrid(across, down), axis=-1))


def _surface_rows(scene: Scene, eye: np.ndarray) -> np.ndarray:
    """Return (k, 6, 4) what the shader must know of planes and obstacles."""
    rows = np.zeros((len(scene.planes) + len(scene.obstacles), 6, 4))
    for row, plane in zip(rows, scene.planes, strict=False):
        # The point of the plane that is nearest to the eye, so that numbers are small.
        row[0, :3] = plane.normal * (plane.normal @ (plane.point - eye))
        row[0, 3], row[1, :3] = _PLANE, plane.normal
        row[5, 0] = _TILE.get(plane.material, 0.0)
    marked = 0
    for row, obstacle in zip(rows[len(scene.planes) :], scene.obstacles, strict=True):
        row[0, :3], row[0, 3] = obstacle.position - eye, _KINDS[obstacle.kind]
        row[1:4, :3], row[1:4, 3] = rotation_matrix(obstacle.orientation).T, obstacle.size / 2
        if obstacle.fiducial is not None:
            marked += 1
            row[5, 2:] = obstacle.fiducial.size, marked
    materials = [*(p.material for p in scene.planes), *(o.material for o in scene.obstacles)]
    for row, material in zip(rows, materials, strict=True):
        row[4] = [*linear_colour(material), _UNEVEN.get(material, 0.0)]
    return rows


def _part_rows(parts: Sequence[SeenPart], begins: Mapping[int, int]) -> np.ndarray:
    """Return (k, 6, 4) what the shader must know of parts; where the tree of each mesh begins."""
    rows = np.zeros((len(parts), 6, 4))
    for row, (part, place, turn) in zip(rows, parts, strict=True):
        row[0, :3], row[0, 3] = place, _KINDS[part.kind]
        row[1:4, :3], row[1:4, 3] = turn.T, part.size / 2
        row[4, :3] = _linear(part.colour)
        row[5, 1], row[5, 2] = 1.0, begins.get(id(part.corners), 0)
    return rows


def _blocks(terrain: HeightMap) -> np.ndarray:
    """Return (by, bx, 1) the highest places of blocks of cells, m."""
    h = terrain.heights
    cells = np.maximum(np.maximum(h[:-1, :-1], h[:-1, 1:]), np.maximum(h[1:, :-1], h[1:, 1:]))
    padded = np.pad(cells, [(0, -n % _BLOCK) for n in cells.shape], mode='edge')
    rows, columns = (n // _BLOCK for n in padded.shape)
    return padded.reshape(rows, _BLOCK, columns, _BLOCK).max(axis=(1, 3))[..., None]


class _Renderer:
    """A lens on the card: its rays, and the scene of the last picture."""

    def __init__(self, lens: Lens, samples: int) -> None:
        rays, centres = _rays(lens, samples), _rays(lens, 1)
        self.context = _context()
        self.size = (lens.width, lens.height)
        self.widest = float(np.arccos(np.clip(rays[..., 2].min(), -1.0, 1.0)))
        with self.context:
            self._make(rays, centres, samples)

    def _make(self, rays: np.ndarray, centres: np.ndarray, samples: int) -> None:
        self.textures = [self._texture(rays), self._texture(centres), *[None] * 5]
        colours = self.context.texture(self.size, 4)
        depths = self.context.texture(self.size, 1, dtype='f4')
        self.target = self.context.framebuffer([colours, depths])
        self.terrain: HeightMap | None = None
        self.meshes: dict[int, tuple[int, np.ndarray]] = {}
        self.samples = samples
        self.fiducials: tuple[Fiducial, ...] = ()
        self.screens: dict[tuple[str, ...], Any] = {}

    def _use(self, *features: str) -> Any:
        """Return the shader on a screen, with some of its features: MESHES, FIDUCIALS."""
        if features not in self.screens:
            shader = (Path(__file__).parent / 'camera.glsl').read_text(encoding='utf-8')
            version, rest = shader[shader.index('#version') :].split('\n', 1)
            program = self.context.program(
                vertex_shader=f'{version}\n{_VERTEX}',
                fragment_shader='\n'.join([version, *(f'#define {f}' for f in features), rest]),
            )
            corners = np.array([-1, -1, 3, -1, -1, 3], 'f4')
            buffer = self.context.buffer(corners.tobytes())
            self.screens[features] = self.context.vertex_array(program, [(buffer, '2f', 'p')])
        self.program = self.screens[features].program
        self._set(**{name: number for number, name in enumerate(_TEXTURES)})
        self._set(samples=self.samples, reach=REACH)
        return self.screens[features]

    def _texture(self, values: np.ndarray) -> Any:
        """Return a texture of values (h, w, k)."""
        height, width, count = values.shape
        data = np.ascontiguousarray(values, 'f4').tobytes()
        texture = self.context.texture((width, height), count, data, dtype='f4', alignment=4)
        # No samples between texels: the shader fetches them.
        texture.filter = (self.context.NEAREST, self.context.NEAREST)
        return texture

    def _set(self, **values: Any) -> None:
        """Write uniforms; those that a driver left out are passed over."""
        for name, value in values.items():
            if name in self.program:
                self.program[name].value = value

    def _ground(self, terrain: HeightMap | None, eye: np.ndarray) -> None:
        self._set(has_ground=terrain is not None)
        if terrain is None:
            return
        if self.terrain is not terrain:
            self.textures[3] = self._texture(terrain.heights[..., None])
            self.textures[4] = self._texture(_blocks(terrain))
            self.terrain = terrain
        material = terrain.material
        self._set(
            ground_corner=tuple(terrain.origin - eye[:2]),
            spacing=terrain.spacing,
            steepest=terrain.steepest,
            top=float(terrain.heights.max() - eye[2]),
            ground_colour=(*linear_colour(material), _UNEVEN.get(material, 0.0)),
        )

    def _parts(self, parts: Sequence[SeenPart]) -> np.ndarray:
        """Return the rows of parts; their meshes go to the card when there are others."""
        meshes = {id(part.corners): part.corners for part, _, _ in parts if part.kind == 'mesh'}
        if not meshes.keys() <= self.meshes.keys():
            trees, begins = trees_of(list(meshes.values()))
            # Each array is kept, so that its number is not that of another one.
            self.meshes = {
                n: (begin, mesh) for (n, mesh), begin in zip(meshes.items(), begins, strict=True)
            }
            padded = np.pad(trees, [(0, -len(trees) % _MESH_COLUMNS), (0, 0)])
            self.textures[5] = self._texture(padded.reshape(-1, _MESH_COLUMNS, 4))
        return _part_rows(parts, {n: begin for n, (begin, _) in self.meshes.items()})

    def _fiducials(self, scene: Scene) -> None:
        """Bring the markers of a scene to the card when there are others."""
        found = tuple(o.fiducial for o in scene.obstacles if o.fiducial is not None)
        if found != self.fiducials:
            self.textures[6] = self._texture(fiducial_rows(found)) if found else None
            self.fiducials = found

    def render(self, environment: Environment, view: View) -> tuple[np.ndarray, np.ndarray]:
        """Return image and depths."""
        with self.context:
            return self._render(environment, view)

    def _render(self, environment: Environment, view: View) -> tuple[np.ndarray, np.ndarray]:
        scene, optics, eye = environment.scene or Scene(), environment.optics, view.eye
        parts = seen_parts(environment, view, self.widest)
        rows = np.concatenate([_surface_rows(scene, eye), self._parts(parts)])
        self._fiducials(scene)
        features = {
            'MESHES': any(part.kind == 'mesh' for part, _, _ in parts),
            'FIDUCIALS': bool(self.fiducials),
        }
        screen = self._use(*(name for name, there in features.items() if there))
        self.textures[2] = self._texture(rows) if len(rows) else None
        self._ground(scene.terrain, eye)
        self._set(
            count=len(rows),
            # By columns, as OpenGL has matrices.
            turn=tuple(view.turn.T.reshape(-1).tolist()),
            gain=view.gain,
            eye=tuple(eye.tolist()),
            eye_z=float(eye[2]),
            time=view.time,
            diffuse=tuple(optics.diffuse),
            attenuation=tuple(optics.attenuation),
            veil=tuple(optics.veil(-float(eye[2]))),
            veil_at_surface=tuple(optics.veil(0.0)),
            lamp=view.lamp.light,
            lamp_place=tuple((view.turn @ view.lamp.place).tolist()),
            lamp_cosine=view.lamp.cosine,
        )
        for number, texture in enumerate(self.textures):
            if texture is not None:
                texture.use(number)
        self.target.use()
        screen.render(vertices=3)
        width, height = self.size
        image = np.frombuffer(self.target.read(components=3, alignment=1), np.uint8)
        depth = np.frombuffer(
            self.target.read(components=1, attachment=1, alignment=1, dtype='f4'), np.float32
        )
        return image.reshape(height, width, 3), depth.reshape(height, width)
