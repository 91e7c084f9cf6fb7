# Copyright 2026 The marine_sim_ros authors
# SPDX-License-Identifier: Apache-2.0

"""Thrusters of a Stonefish robot: the models of their thrust as curves over pulse width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from marine_sim_ros.core.spatial import rotation_matrix
from marine_sim_ros.importers.curves import along, sampled_curve, thrust_limit
from marine_sim_ros.importers.description import Sourced, Thruster
from marine_sim_ros.importers.draft import Draft, origin_of
from marine_sim_ros.importers.stonefish.frames import ned_pose
from marine_sim_ros.model.xml import Reader
from marine_sim_ros.sdf.poses import Pose

__all__ = ['ThrusterReader']


class ThrusterReader:
    """Adds thrusters to a draft."""

    def __init__(self, draft: Draft, density: float) -> None:
        """Add to a draft, in water of a density (kg/m³)."""
        self.draft, self.density = draft, density

    def read(self, reader: Reader) -> None:
        """Add the thruster of an element of type thruster, simple_thruster or push."""
        if reader.attribute('type') == 'thruster':
            self._thruster(reader)
        else:
            self._simple_thruster(reader)

    def _simple_thruster(self, reader: Reader) -> None:
        specs = reader.child('specs')
        ends = [0.0, 0.0]
        if specs is not None:
            names = ('lower_thrust_limit', 'upper_thrust_limit')
            if reader.attribute('type') == 'push':
                names = ('lower_limit', 'upper_limit')
            ends = [specs.attribute_number(tag, 0.0, -1e9, 1e9) for tag in names]
        if not ends[0] < ends[1]:
            most = thrust_limit(self.draft, reader.attribute('name')).value
            ends = [-most, most]
        inverted = specs is not None and specs.attribute('inverted', 'false') == 'true'
        low, high = min(ends[0], 0.0), max(ends[1], 0.0)
        if inverted:
            self._add_thruster(reader, lambda f: -f, -high, -low, speed=False)
        else:
            self._add_thruster(reader, lambda f: f, low, high, speed=False)

    def _thruster(self, reader: Reader) -> None:
        specs, model = reader.child('specs'), reader.child('thrust_model')
        propeller = reader.child('propeller')
        if specs is not None and propeller is not None and specs.element.get('max_rpm'):
            self._old_thruster(reader, specs, propeller)
            return
        if specs is None or model is None or propeller is None:
            raise reader.error('expected <specs>, <propeller> and <thrust_model>')
        most = specs.attribute_number('max_setpoint', 0.0, 0.0, 1e6)
        diameter = propeller.attribute_number('diameter', 0.0, 0.0, 10.0)
        right = propeller.attribute('right', 'true').lower() in ('true', '1')
        thrust_of = self._model(model, diameter)
        inverted = specs.attribute('inverted_setpoint', 'false').lower() in ('true', '1')
        ratio = None
        if model.attribute('type') == 'fluid_dynamics':
            ratio = Sourced(1.0, f'{origin_of(model)}: k_T(J) = k_T (1 − J)')
        self._add_thruster(
            reader,
            thrust_of if right != inverted else lambda c: thrust_of(-c),
            -most,
            most,
            direction='cw' if right else 'ccw',
            diameter=Sourced(diameter, origin_of(propeller)) if diameter > 0 else None,
            time_constant=self._lag(reader),
            zero_thrust_advance_ratio=ratio,
        )

    def _old_thruster(self, reader: Reader, specs: Reader, propeller: Reader) -> None:
        """Take a thruster of Stonefish before 1.4: k_T and the largest rpm."""
        constant = specs.attribute_number('thrust_coeff', 0.0, 0.0, 1e3)
        astern = specs.attribute_number('thrust_coeff_backward', constant, 0.0, 1e3)
        most = specs.attribute_number('max_rpm', 0.0, 0.0, 1e6) * np.pi / 30
        diameter = propeller.attribute_number('diameter', 0.0, 0.0, 10.0)
        right = propeller.attribute('right', 'true').lower() in ('true', '1')
        inverted = specs.attribute('inverted', 'false').lower() in ('true', '1')
        thrust_of = self._propeller(diameter, constant, astern)
        self._add_thruster(
            reader,
            (lambda c: thrust_of(-c)) if inverted else thrust_of,
            -most,
            most,
            direction='cw' if right else 'ccw',
            diameter=Sourced(diameter, origin_of(propeller)) if diameter > 0 else None,
            zero_thrust_advance_ratio=Sourced(1.0, f'{origin_of(specs)}: k_T(J) = k_T (1 − J)'),
        )

    def _lag(self, reader: Reader) -> Sourced[float] | None:
        dynamics = reader.child('rotor_dynamics')
        kind = '' if dynamics is None else dynamics.attribute('type', '')
        if dynamics is None or kind == 'zero_order':
            return None
        if kind == 'first_order':
            constant = dynamics.child('time_constant')
            if constant is None:
                return None
            value = constant.attribute_number('value', 0.0, 0.0, 60.0)
            return Sourced(value, origin_of(constant))
        self.draft.drop(f'{origin_of(dynamics)}: {kind} dynamics of a rotor; it follows at once')
        return None

    def _model(self, model: Reader, diameter: float) -> Callable[[float], float]:
        kind = model.attribute('type')

        def value(tag: str, attribute: str = 'value') -> float:
            element = model.child(tag)
            if element is None:
                raise model.error(f'has no <{tag}>')
            return element.attribute_number(attribute, 0.0, -1e9, 1e9)

        if kind == 'quadratic':
            constant = value('thrust_coeff')
            return lambda w: constant * w * abs(w)
        if kind == 'deadband':
            ahead, astern = value('thrust_coeff', 'forward'), value('thrust_coeff', 'reverse')
            low, high = value('deadband', 'lower'), value('deadband', 'upper')
            return lambda w: (
                astern * min(w * abs(w) - low, 0.0) + ahead * max(w * abs(w) - high, 0.0)
            )
        if kind == 'linear_interpolation':
            tables = []
            for tag in ('input', 'output'):
                element = model.child(tag)
                if element is None:
                    raise model.error(f'has no <{tag}>')
                tables.append(element.numbers(set(range(1, 2001)), element.attribute('value')))
            if len(tables[0]) != len(tables[1]):
                raise model.error('expected as many numbers in <input> as in <output>')
            order = np.argsort(tables[0], kind='stable')
            at, thrust = tables[0][order], tables[1][order]
            return lambda w: float(np.interp(w, at, thrust))
        if kind == 'fluid_dynamics':
            ahead, astern = value('thrust_coeff', 'forward'), value('thrust_coeff', 'reverse')
            return self._propeller(diameter, ahead, astern)
        raise model.error(
            f'type {kind!r}; expected quadratic, deadband, linear_interpolation or fluid_dynamics'
        )

    def _propeller(self, diameter: float, ahead: float, astern: float) -> Callable[[float], float]:
        """Return the thrust of a rotor speed, k_T ρ D⁴ n |n| with k_T ahead and astern."""
        factor = self.density * diameter**4 / (2 * np.pi) ** 2
        return lambda w: factor * (ahead if w >= 0 else astern) * w * abs(w)

    def _add_thruster(
        self,
        reader: Reader,
        thrust_of: Callable[[float], float],
        low: float,
        high: float,
        *,
        speed: bool = True,
        **details: Any,
    ) -> None:
        """Add a thruster with the thrust of a set-point from low to high, and its details."""
        if not low < high:
            raise reader.error('has no range of set-points')
        curve, mirrored = sampled_curve(thrust_of, low, high, speed=speed)
        pose = self._place(reader)
        axis = rotation_matrix(pose.quaternion)[:, 0]
        self.draft.add_thruster(
            Thruster(
                reader.attribute('name').replace('/', '_'),
                along(pose.translation, -axis if mirrored else axis),
                Sourced(curve, origin_of(reader)),
                link=self.draft.named_link(reader, 'link'),
                **details,
            )
        )

    def _place(self, reader: Reader) -> Pose:
        """Return the frame of an actuator in the base; its thrust is along x."""
        link = self.draft.named_link(reader, 'link')
        return self.draft.pose_of(link).then(ned_pose(reader.child('origin')))
