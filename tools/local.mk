# The gemel command: main.c and one file for each sub-command. What needs the harness goes between
# "if VERIFY" and "endif".
# One file a line, sorted. SPDX-License-Identifier: MIT

gemel_SOURCES += %reldir%/args.c
gemel_SOURCES += %reldir%/attrs.c
gemel_SOURCES += %reldir%/completions.c
gemel_SOURCES += %reldir%/convert.c
gemel_SOURCES += %reldir%/debug.c
gemel_SOURCES += %reldir%/device.c
gemel_SOURCES += %reldir%/dot.c
gemel_SOURCES += %reldir%/end.c
gemel_SOURCES += %reldir%/files.c
gemel_SOURCES += %reldir%/flags.c
gemel_SOURCES += %reldir%/grad.c
gemel_SOURCES += %reldir%/info.c
gemel_SOURCES += %reldir%/main.c
gemel_SOURCES += %reldir%/observe.c
gemel_SOURCES += %reldir%/onnx.c
gemel_SOURCES += %reldir%/onnx.h
gemel_SOURCES += %reldir%/opt.c
gemel_SOURCES += %reldir%/replay.c
gemel_SOURCES += %reldir%/rewriting.c
gemel_SOURCES += %reldir%/run.c
gemel_SOURCES += %reldir%/say.c
gemel_SOURCES += %reldir%/show.c
gemel_SOURCES += %reldir%/signals.c
gemel_SOURCES += %reldir%/tool.h
gemel_SOURCES += %reldir%/values.c
if VERIFY
gemel_SOURCES += %reldir%/baseline.c
gemel_SOURCES += %reldir%/campaign-hlo.c
gemel_SOURCES += %reldir%/campaign-html.c
gemel_SOURCES += %reldir%/campaign-models.c
gemel_SOURCES += %reldir%/campaign-optimizer.c
gemel_SOURCES += %reldir%/campaign-pair.c
gemel_SOURCES += %reldir%/campaign-report.c
gemel_SOURCES += %reldir%/campaign.c
gemel_SOURCES += %reldir%/campaign.h
gemel_SOURCES += %reldir%/children.c
gemel_SOURCES += %reldir%/children.h
gemel_SOURCES += %reldir%/equal.c
gemel_SOURCES += %reldir%/fuzz.c
gemel_SOURCES += %reldir%/guard.c
gemel_SOURCES += %reldir%/html.c
gemel_SOURCES += %reldir%/json.c
gemel_SOURCES += %reldir%/junit.c
gemel_SOURCES += %reldir%/models.c
gemel_SOURCES += %reldir%/mutate.c
gemel_SOURCES += %reldir%/page.c
gemel_SOURCES += %reldir%/page.h
gemel_SOURCES += %reldir%/prove.c
gemel_SOURCES += %reldir%/records.c
gemel_SOURCES += %reldir%/records.h
gemel_SOURCES += %reldir%/server.c
gemel_SOURCES += %reldir%/subjects.c
gemel_SOURCES += %reldir%/table.c
gemel_SOURCES += %reldir%/verify.c
endif

# Scripts that ask the command what can be completed, where the shells look for them.
bashcompletionsdir = $(datadir)/bash-completion/completions
dist_bashcompletions_DATA = %reldir%/completions/gemel
zshcompletionsdir = $(datadir)/zsh/site-functions
dist_zshcompletions_DATA = %reldir%/completions/_gemel
fishcompletionsdir = $(datadir)/fish/vendor_completions.d
dist_fishcompletions_DATA = %reldir%/completions/gemel.fish
