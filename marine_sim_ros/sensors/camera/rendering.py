# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Off-screen rendering of a camera's picture with OpenGL: one ray per sample in a shader.

A ray per pixel, in place of triangles, shows every distortion exactly and meets the same surfaces
as :mod:`marine_sim_ros.environment.rays`. EGL gives the context, so no display is needed: the
driver of a graphics card, or Mesa's llvmpipe on the processor.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from marine_sim_ros.core.errors import MissingPackageError
from marine_sim_ros.core.extras import require
from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.environment.environment import Environment
from marine_sim_ros.geometry.triangles import TriangleSurface
from marine_sim_ros.scene.drawing import material_colour
from marine_sim_ros.scene.obstacles import Fiducial
from marine_sim_ros.scene.scene import Scene
from marine_sim_ros.scene.terrain import HeightMap
from marine_sim_ros.sensors.camera.lenses import Lens, View, height_above_water
from marine_sim_ros.sensors.camera.render_input import (
    SeenPart,
    bounding_trees,
    fiducial_rows,
    parts_in_view,
    tiles_of,
)
from marine_sim_ros.sensors.seen_bodies import OBSTACLE, PLANE, label

__all__ = ['Rendered', 'linear_colour', 'render']

_NEVER = 1e30
"""m, as in the shader."""
REACH = 200.0
"""m that rays go."""
_TILE_SIDE = 16
"""Pixels along each side of a tile, as in the shader."""
_FAINT = 0.5 / 255 / 12.92
"""Linear light that no pixel shows: half of the least step of sRGB."""
_PORT = 0.05
"""m, as in the shader."""
_SHAPE_NUMBERS = {'box': 0, 'cylinder': 1, 'sphere': 2, 'mesh': 4}
_MESH_COLUMNS = 4096
"""Of the texture of meshes, as in the shader."""
_LEVELS = 6
"""Of the pyramid of the terrain's highest places, as in the shader."""
_RIPPLES = 0.25
"""rad, that ripples turn what the water's surface mirrors, at most, and some more."""
_UNEVEN = {
    **dict.fromkeys(('sand', 'coarse_sand', 'fine_sand'), 0.3),
    'rock': 0.5,
    'gravel': 0.5,
    'concrete': 0.1,
    'rust': 0.5,
}
"""Change of brightness over a surface, its share."""
_TILE = {'concrete': 0.5}
"""m, of planes."""
_TEXTURES = (
    'rays',
    'centres',
    'surfaces',
    'ground',
    'blocks',
    'meshes',
    'fiducials',
    'lists',
    'patches',
)
_OF_TILES = ('MIRROR', 'GROUND_AHEAD', 'SURFACES', 'MIRRORED')
"""Features of the shader that tiles have or lack."""
_VERTEX = 'in vec2 p; void main() { gl_Position = vec4(p, 0, 1); }'
_NEEDS = (
    'camera: no OpenGL 3.3 without a display; expected: the driver of a graphics card, or Mesa: '
    'apt install libegl1 libgl1-mesa-dri'
)


class Rendered(NamedTuple):
    """Rendered picture of a camera.

    Attributes:
        image: (h, w, 3) uint8, sRGB.
        depth: (h, w) along the axis, of the middle of a pixel, m; infinite where it sees nothing
            within 200 m; the water's surface is something.
        labels: (h, w) uint16, of the middle of a pixel: what it sees, of :mod:`labels`.
    """

    image: np.ndarray
    depth: np.ndarray
    labels: np.ndarray


def render(lens: Lens, samples: int, environment: Environment, view: View) -> Rendered:
    """Return the picture of a camera in a scene.

    Args:
        samples: rays of a pixel along each side.
        environment: scene and water.

    Raises:
        MissingPackageError: moderngl or OpenGL is missing.
        ParameterError: the lens folds the image.
    """
    renderers = _own.__dict__.setdefault('renderers', {})
    key = (lens, samples)
    if key not in renderers:
        renderers[key] = _Renderer(lens, samples)
    result: Rendered = renderers[key].render(environment, view)
    return result


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
    return tuple(_linear(np.array(material_colour(material))).tolist())


def _linear(values: np.ndarray) -> np.ndarray:
    """Return the linear light of sRGB values, 0 to 1 (IEC 61966-2-1)."""
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _patches() -> np.ndarray:
    """Return smooth noise (256, 256) uint8 that repeats: numbers of 64 by 64 places, blurred."""
    corners = np.random.default_rng(0).random((64, 64))
    parameter = (np.arange(4) + 0.5) / 4
    parameter = (parameter * parameter * (3.0 - 2.0 * parameter))[:, None]
    for _ in range(2):  # along y, then along x
        between = (
            corners[:, None] * (1 - parameter) + np.roll(corners, -1, axis=0)[:, None] * parameter
        )
        corners = between.reshape(256, -1).T
    return np.ascontiguousarray(np.round(255 * corners), np.uint8)


def _rays(lens: Lens, samples: int) -> np.ndarray:
    """Return the directions (h n, w n, 3) of n by n samples of each pixel."""
    across, down = (
        (np.arange(count * samples) + 0.5) / samples - 0.5 for count in (lens.width, lens.height)
    )
    # A few rows at a time: what is counted with stays in the processor's cache.
    parts = np.array_split(down, max(1, len(across) * len(down) // 2**16))
    return np.concatenate(
        [lens.directions(np.stack(np.meshgrid(across, rows), axis=-1)) for rows in parts]
    )


def _plane_rows(scene: Scene, eye: np.ndarray) -> np.ndarray:
    """Return (k, 4, 4) what the shader must know of planes."""
    rows = np.zeros((len(scene.planes), 4, 4))
    for i, (row, plane) in enumerate(zip(rows, scene.planes, strict=True)):
        # The point of the plane that is nearest to the eye, so that numbers are small.
        row[0, :3] = plane.normal * (plane.normal @ (plane.point - eye))
        row[0, 3] = _TILE.get(plane.material, 0.0)
        row[1, :3], row[1, 3] = plane.normal, label(PLANE, i)
        row[2] = _matter(plane.material)
        row[3] = min(plane.rim - eye[2], _NEVER)
    return rows


def _obstacle_rows(scene: Scene, eye: np.ndarray, begins: Mapping[int, int]) -> np.ndarray:
    """Return (k, 6, 4) what the shader must know of obstacles; where trees of meshes begin."""
    rows, marked = np.zeros((len(scene.obstacles), 6, 4)), 0
    for i, (row, obstacle) in enumerate(zip(rows, scene.obstacles, strict=True)):
        row[0, :3], row[0, 3] = obstacle.position - eye, _SHAPE_NUMBERS[obstacle.kind]
        row[1:4, :3], row[1:4, 3] = rotation_matrix(obstacle.orientation).T, obstacle.size / 2
        row[4], row[5, 1] = _matter(obstacle.material), label(OBSTACLE, i)
        if obstacle.mesh is not None:
            row[5, 0] = 0.0 if obstacle.mesh.closed else -1.0
            row[5, 2] = begins[id(obstacle.mesh)]
        if obstacle.fiducial is not None:
            marked += 1
            row[5, 2:] = obstacle.fiducial.size, marked
    return rows


def _matter(material: str) -> list[float]:
    """Return the colour of a material, and how uneven it is."""
    return [*linear_colour(material), _UNEVEN.get(material, 0.0)]


def _part_rows(parts: Sequence[SeenPart], begins: Mapping[int, int]) -> np.ndarray:
    """Return (k, 6, 4) what the shader must know of parts; where the tree of each mesh begins."""
    rows = np.zeros((len(parts), 6, 4))
    for row, (part, center, rotation, part_label) in zip(rows, parts, strict=True):
        row[0, :3], row[0, 3] = center, _SHAPE_NUMBERS[part.kind]
        row[1:4, :3], row[1:4, 3] = rotation.T, part.size / 2
        row[4, :3] = _linear(part.colour)
        row[5, 1] = part_label
        row[5, 2] = begins.get(id(part.corners), 0)
    return rows


def _corners(terrain: HeightMap) -> np.ndarray:
    """Return (ny - 1, nx - 1, 4) the heights at the corners of cells, m."""
    h = terrain.heights
    return np.stack([h[:-1, :-1], h[:-1, 1:], h[1:, :-1], h[1:, 1:]], axis=-1)


def _pyramid(highest: np.ndarray) -> list[np.ndarray]:
    """Return the highest places of cells (m, n), and of 2 by 2, 4 by 4 ... of them, m."""
    levels = [np.pad(highest, [(0, -n % 2**_LEVELS) for n in highest.shape], mode='edge')]
    for _ in range(_LEVELS):
        pairs = np.maximum(levels[-1][::2], levels[-1][1::2])
        levels.append(np.maximum(pairs[:, ::2], pairs[:, 1::2]))
    return levels


class _Renderer:
    """A lens on the card: its rays, and the scene of the last picture."""

    def __init__(self, lens: Lens, samples: int) -> None:
        rays, centres = _rays(lens, samples), _rays(lens, 1)
        self.context = _context()
        self.size = (lens.width, lens.height)
        self.widest = float(np.arccos(np.clip(rays[..., 2].min(), -1.0, 1.0)))
        with self.context:
            self._make(rays, centres, samples)
        self.tiles = tiles_of(rays, _TILE_SIDE * samples)

    def _make(self, rays: np.ndarray, centres: np.ndarray, samples: int) -> None:
        self.textures = [self._texture(rays), self._texture(centres), *[None] * 6, self._noise()]
        colours = self.context.texture(self.size, 4)
        depths = self.context.texture(self.size, 2, dtype='f4')
        self.target = self.context.framebuffer([colours, depths])
        self.terrain: HeightMap | None = None
        self.meshes: dict[int, tuple[int, np.ndarray | TriangleSurface]] = {}
        self.samples = samples
        across, down = (-(-n // _TILE_SIDE) for n in self.size)
        self.corners = self.context.buffer(reserve=across * down * 48, dynamic=True)
        self.fiducials: tuple[Fiducial, ...] = ()
        self.screens: dict[tuple[str, ...], Any] = {}

    def _use(self, *features: str) -> Any:
        """Return the shader on the screen's corners, with some of its features."""
        if features not in self.screens:
            shader = (Path(__file__).parent / 'camera.glsl').read_text(encoding='utf-8')
            version, body = shader[shader.index('#version') :].split('\n', 1)
            program = self.context.program(
                vertex_shader=f'{version}\n{_VERTEX}',
                fragment_shader='\n'.join([version, *(f'#define {f}' for f in features), body]),
            )
            self.screens[features] = self.context.vertex_array(
                program, [(self.corners, '2f', 'p')]
            )
        self.program = self.screens[features].program
        self._set(**{name: number for number, name in enumerate(_TEXTURES)})
        self._set(reach=REACH)
        return self.screens[features]

    def _texture(self, values: np.ndarray) -> Any:
        """Return a texture of values (h, w, k)."""
        height, width, count = values.shape
        data = np.ascontiguousarray(values, 'f4').tobytes()
        texture = self.context.texture((width, height), count, data, dtype='f4', alignment=4)
        # No samples between texels: the shader fetches them.
        texture.filter = (self.context.NEAREST, self.context.NEAREST)
        return texture

    def _noise(self) -> Any:
        patches = _patches()
        texture = self.context.texture(patches.shape, 1, patches.tobytes(), alignment=1)
        texture.filter = (self.context.LINEAR, self.context.LINEAR)
        return texture

    def _set(self, **values: Any) -> None:
        """Write uniforms; those that a driver left out are passed over."""
        for name, value in values.items():
            if name in self.program:
                self.program[name].value = value

    def _ground(self, terrain: HeightMap | None, eye: np.ndarray) -> dict[str, Any]:
        """Bring a terrain to the card when it is another one; return its uniforms."""
        if terrain is not None:
            terrain = terrain.window(float(eye[0]), float(eye[1]))
        if terrain is not None and self.terrain is not terrain:
            corners = _corners(terrain)
            self.textures[3] = self._texture(corners)
            highest = _pyramid(corners.max(axis=-1))
            self.textures[4] = self._texture(highest[0][..., None])
            self.textures[4].build_mipmaps(0, _LEVELS)
            self.textures[4].filter = (self.context.NEAREST_MIPMAP_NEAREST, self.context.NEAREST)
            for level, values in enumerate(highest):
                self.textures[4].write(values.astype('f4').tobytes(), level=level, alignment=4)
            self.terrain = terrain
        if terrain is None:
            return {}
        material = terrain.material
        return {
            'ground_corner': tuple(terrain.origin - eye[:2]),
            'spacing': terrain.spacing,
            'top': float(terrain.highest - eye[2]),
            'ground_colour': tuple(_matter(material)),
        }

    def _trees(self, scene: Scene, parts: Sequence[SeenPart]) -> dict[int, int]:
        """Bring meshes to the card when there are others; return where their trees begin."""
        obstacle_meshes = (o.mesh for o in scene.obstacles if o.mesh is not None)
        meshes: dict[int, np.ndarray | TriangleSurface] = {
            id(mesh): mesh for mesh in obstacle_meshes
        }
        meshes |= {id(item.part.corners): item.part.corners for item in _with_meshes(parts)}
        if not meshes.keys() <= self.meshes.keys():
            trees, begins = bounding_trees(list(meshes.values()), _MESH_COLUMNS)
            # Each array is kept, so that its number is not that of another one.
            self.meshes = {
                n: (begin, mesh) for (n, mesh), begin in zip(meshes.items(), begins, strict=True)
            }
            self.textures[5] = self._texture(trees)
        return {n: begin for n, (begin, _) in self.meshes.items()}

    def _fiducials(self, scene: Scene) -> None:
        """Bring the markers of a scene to the card when there are others."""
        fiducials = tuple(o.fiducial for o in scene.obstacles if o.fiducial is not None)
        if fiducials != self.fiducials:
            self.textures[6] = self._texture(fiducial_rows(fiducials)) if fiducials else None
            self.fiducials = fiducials

    def render(self, environment: Environment, view: View) -> Rendered:
        """Return the rendered picture."""
        with self.context:
            return self._render(environment, view)

    def _render(self, environment: Environment, view: View) -> Rendered:
        scene, eye = environment.scene or Scene(), view.eye
        parts = parts_in_view(environment, view, self.widest)
        planes, begins = _plane_rows(scene, eye), self._trees(scene, parts)
        rows = np.concatenate([_obstacle_rows(scene, eye, begins), _part_rows(parts, begins)])
        visible = self._may_be_seen(view, rows)
        # Mirror images of parts that are not in the picture are left out too.
        used = visible.any(axis=0) | (np.arange(len(rows)) < len(scene.obstacles))
        rows, visible = rows[used], visible[:, used]
        self._fiducials(scene)
        features = {
            'MESHES': bool(_with_meshes(parts) or scene.meshes),
            'FIDUCIALS': bool(self.fiducials),
            'SUN': environment.optics.sun > 0,
            'GROUND': scene.terrain is not None,
            f'SAMPLES {self.samples}': True,
            f'PLANES {len(planes)}': len(planes) > 0,
        }
        self.textures[2] = self._texture(rows) if len(rows) else None
        uniforms = {
            **self._ground(scene.terrain, eye),
            **_light(environment, view),
            'planes': [tuple(row) for row in planes.reshape(-1, 4).tolist()],
            'tiles_across': self.tiles.across,
        }
        tiles, self.textures[7] = self._tiles(environment, view, visible, rows)
        for number, texture in enumerate(self.textures):
            if texture is not None:
                texture.use(number)
        self.target.use()
        first = 0
        for tile_features, count in tiles:
            shown = self._use(*(n for n, is_on in {**features, **tile_features}.items() if is_on))
            self._set(**uniforms)
            shown.render(vertices=6 * count, first=6 * first)
            first += count
        width, height = self.size
        image = np.frombuffer(self.target.read(components=3, alignment=1), np.uint8)
        measured = np.frombuffer(
            self.target.read(components=2, attachment=1, alignment=1, dtype='f4'), np.float32
        ).reshape(height, width, 2)
        return Rendered(
            image.reshape(height, width, 3),
            np.ascontiguousarray(measured[..., 0]),
            measured[..., 1].astype(np.uint16),
        )

    def _may_be_seen(
        self,
        view: View,
        rows: np.ndarray,
        mirror: float = 1.0,
        slack: float = 0.0,
        height: float = 0.0,
    ) -> np.ndarray:
        """Return whether surfaces may be in tiles (m, k); −1: their images in the water.

        ``height`` is that of the eye above the water, m.
        """
        centers, axes = rows[:, 0, :3].copy(), rows[:, 1:4, :3] * [1.0, 1.0, mirror]
        centers[:, 2] = mirror * (centers[:, 2] + height) - height
        return self.tiles.sees(view.turn, centers, axes, rows[:, 1:4, 3], slack)

    def _tiles(
        self, environment: Environment, view: View, visible: np.ndarray, rows: np.ndarray
    ) -> tuple[list[tuple[dict[str, bool], int]], Any]:
        """Put the corners of all tiles on the card, those with the same features together.

        Returns:
            Features and the number of tiles that have them; the texture of the surfaces of tiles.
        """
        mirror, ground = _tiles_near_surfaces(environment, view, self.tiles.z_bounds(view.turn))
        mirrored = np.repeat(mirror[:, None], len(rows), axis=1)
        height = height_above_water(environment, view.eye)
        if height < -2 * _PORT and mirrored.any():
            mirrored &= self._may_be_seen(view, rows, -1.0, _RIPPLES, height)
        both = np.concatenate([visible, mirrored]).reshape(2, *visible.shape)
        counts = both.sum(axis=-1)
        order = np.argsort(~both, axis=-1, kind='stable')[..., : int(counts.max(initial=0))]
        lists = np.concatenate([counts[..., None], order], axis=-1)
        features = np.stack([mirror, ground, *(counts > 0)])
        groups, corners = [], []
        for kind in np.unique(features, axis=1).T:
            chosen = np.flatnonzero((kind == features.T).all(axis=-1))
            groups.append((dict(zip(_OF_TILES, kind.tolist(), strict=True)), len(chosen)))
            corners.append(self.tiles.corners(chosen, _TILE_SIDE, self.size))
        self.corners.write(np.concatenate(corners).astype('f4').tobytes())
        return groups, self._texture(np.concatenate(lists, axis=-1)[..., None])


def _with_meshes(parts: Sequence[SeenPart]) -> list[SeenPart]:
    return [part for part in parts if part.part.kind == 'mesh']


def _light(environment: Environment, view: View) -> dict[str, Any]:
    """Return the uniforms of light, water, and where the eye is."""
    optics, eye = environment.optics, view.eye
    return {
        # By columns, as OpenGL has matrices.
        'turn': tuple(view.turn.T.reshape(-1).tolist()),
        'gain': view.gain,
        'eye': tuple(eye.tolist()),
        'eye_z': float(eye[2]),
        'eye_height': height_above_water(environment, eye),
        'time': view.time,
        'diffuse': tuple(optics.diffuse),
        'attenuation': tuple(optics.attenuation),
        'veil': tuple(optics.veil(-height_above_water(environment, eye))),
        'veil_at_surface': tuple(optics.veil(0.0)),
        'sun': optics.sun,
        'haze': optics.turbidity,
        'lamp': view.lamp.light,
        'lamp_place': tuple((view.turn @ view.lamp.place).tolist()),
        'lamp_cosine': view.lamp.cosine,
        'visible': _visible_range(environment, view),
    }


def _visible_range(environment: Environment, view: View) -> float:
    """Return from how far on, m, light is too faint for any pixel to show it."""
    light = np.log(max(view.gain, 1.0) / _FAINT)
    return float(min(REACH, light / environment.optics.attenuation.min()))


def _tiles_near_surfaces(
    environment: Environment, view: View, steepest: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return whether tiles (m,) may see the water's surface, and the terrain.

    Args:
        environment: water and scene.
        steepest: (m, 2) bounds of the z of the rays' directions.
    """
    height = height_above_water(environment, view.eye)
    reach = REACH if height > 0 else _visible_range(environment, view)
    towards = steepest[:, 1] if height < 0 else -steepest[:, 0]
    mirror = (towards * reach >= abs(height)) | (abs(height) <= 2 * _PORT)
    terrain = environment.scene.terrain if environment.scene is not None else None
    if terrain is None:
        return mirror, np.zeros(len(mirror), bool)
    above = float(view.eye[2]) > terrain.highest
    return mirror, (steepest[:, 0] < 0) | (not above)
