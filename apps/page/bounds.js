// SPDX-License-Identifier: Apache-2.0
// Colours of what bounds a step, readable below black text and on paper of either theme.
const boundColours = {
  "arithmetic": "#4f8fe8", "memory bandwidth": "#e8a33d", "cache bandwidth": "#d6c04a", "overhead": "#b48be0",
  "kernel efficiency": "#e46a6a", "unknown": "#9aa4b2",
};
const palette = ["#5b93e6", "#e07a86", "#52b788", "#d49a4e", "#a98be0", "#4fb3bf", "#dd82c0", "#a9b545", "#8aa4c0", "#c98a6b"];
