// Copyright 2026 The marine_sim_ros authors
// SPDX-License-Identifier: Apache-2.0

import { Chart, GamepadPage, Gauges, View, Curves, Sensors, Sounds, operatorHands, wire } from "marine-sim-console";

// One element of the page; what it is, its kind says.
export default {
  template: '<div :class="kind" :data-part="part"><slot></slot></div>',
  props: { kind: String, part: String, page: String, replay: Boolean, words: Object },
  emits: ["place", "refused", "hint"], // else listeners would hear the view's own event of that name too
  mounted() {
    const make = {
      view: (host) => {
        try {
          this.own = new View(host);
        } catch (error) { // a browser without WebGL
          const blank = host.querySelector(".blank");
          blank.hidden = false;
          blank.textContent = `This browser cannot draw the view (${error.message}); everything else goes on.`;
          return;
        }
        host.addEventListener("place", (event) => this.$emit("place", event.detail));
      },
      gauges: (host) => { this.own = new Gauges(host, this.part); },
      curves: (host) => { this.own = new Curves(host); },
      chart: (host) => { this.own = new Chart(host); },
      sensors: (host) => { this.own = new Sensors(host); },
      sound: (host) => { this.own = new Sounds(host); },
      gamepad: (host) => { this.own = new GamepadPage(host); },
      hands: (host) => { this.own = operatorHands().attach(host); },
    };
    make[this.kind]?.(this.$el);
    this.$el.own = this.own;
    if (this.page) {
      wire.start(this.page, this.replay, this.part, this.words);
      if (!this.replay) operatorHands();
      wire.on("error", (text) => this.$emit("refused", text));
      wire.on("hint", (text) => this.$emit("hint", text));
      wire.on("ended", (text) => { document.querySelector(".ended").textContent = text; });
      wire.on("state", () => Object.assign(document.body.dataset, { wire: wire.state, mine: wire.mine }));
    }
  },
  methods: {
    call(name, ...values) { return this.own?.[name]?.(...values); },
    seek(time) { wire.seek(time); },
  },
};
