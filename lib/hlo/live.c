/* SPDX-License-Identifier: MIT
 *
 * Which instructions of a module count (live.h): those that results are made of, and those that do
 * something besides, with what these are made of. An instruction does what the computations that it
 * calls do, which stand before it.
 */
#include "hlo/live.h"

#include <string.h>

int gemel__hlo_is_silent(gemel__hlo_span name) {
  return gemel__hlo_is(name, "metadata") || gemel__hlo_is(name, "sharding") ||
         gemel__hlo_is(name, "control-predecessors") || gemel__hlo_is(name, "origin");
}

int gemel__hlo_is_drawn(const gemel__hlo_instr *instr) {
  return gemel__hlo_is(instr->opcode, "rng") ||
         gemel__hlo_is(instr->opcode, "rng-get-and-update-state");
}

/* 1 if INSTR does something besides, whatever it calls. */
static int does_something(const gemel__hlo_instr *instr) {
  static const char *const opcodes[] = {"infeed", "outfeed",   "recv",
                                        "send",   "recv-done", "send-done"};
  for (size_t k = 0; k < sizeof opcodes / sizeof *opcodes; k++) {
    if (gemel__hlo_is(instr->opcode, opcodes[k])) {
      return 1;
    }
  }
  return gemel__hlo_is_drawn(instr) ||
         gemel__hlo_is(gemel__hlo_attr_of(instr, "custom_call_has_side_effect"), "true");
}

gemel__hlo_span gemel__hlo_next_word(gemel__hlo_span *rest) {
  while (rest->length > 0 && strchr("{}, %", *rest->text) != NULL) {
    rest->text++;
    rest->length--;
  }
  gemel__hlo_span word = {rest->text, 0};
  while (rest->length > 0 && strchr("{}, %", *rest->text) == NULL) {
    rest->text++;
    rest->length--;
    word.length++;
  }
  return word;
}

/* 1 if INSTR calls a computation that does something, as far as is known. */
static int calls_one(const gemel_hlo *module, const gemel__hlo_instr *instr) {
  for (size_t k = 0; k < instr->n_attrs; k++) {
    gemel__hlo_span rest = instr->attrs[k].value, word;
    while (!gemel__hlo_is_silent(instr->attrs[k].name) &&
           (word = gemel__hlo_next_word(&rest)).length > 0) {
      const gemel__hlo_computation *called = gemel__hlo_computation_of(module, word);
      if (called != NULL && called->has_effect) {
        return 1;
      }
    }
  }
  return 0;
}

/* Marks what does something in C. */
static void mark_effects(const gemel_hlo *module, gemel__hlo_computation *c) {
  for (size_t k = 0; k < c->n_instrs; k++) {
    gemel__hlo_instr *instr = &c->instrs[k];
    instr->has_effect = does_something(instr) || calls_one(module, instr);
    c->has_effect = c->has_effect || instr->has_effect;
  }
}

static void mark_live(gemel__hlo_computation *c) {
  for (size_t k = c->n_instrs; k-- > 0;) {
    gemel__hlo_instr *instr = &c->instrs[k];
    instr->is_live = instr->is_live || instr->has_effect || k == c->root;
    for (size_t i = 0; i < instr->n_operands && instr->is_live; i++) {
      c->instrs[instr->operands[i]].is_live = 1;
    }
  }
}

void gemel__hlo_mark_live(gemel_hlo *module) {
  for (size_t k = 0; k < module->n_computations; k++) {
    mark_effects(module, &module->computations[k]);
    mark_live(&module->computations[k]);
  }
}
