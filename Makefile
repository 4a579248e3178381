# Everything a person types here. Each target sets up what it needs (scripts/setup); nothing has to be done before.
.PHONY: help prove check test test-all test-rest lab bench bench-truth bench-blame bench-predict bench-daemon bench-traces bench-lab docs dist deny bless
PATH := $(PATH):$(HOME)/.cargo/bin
export PATH
# When the command was started; the table of stages begins with what was done before it could be printed.
export QUIETCORE_STARTED := $(shell date +%s)
XTASK := cargo run --quiet --locked -p xtask --
BENCH := cargo run --quiet --locked -p bench --

# Lists the targets.
help:
	@awk '/^# / { if (about == "") about = substr($$0, 3); next } \
	     /^[a-z-]+:/ && about != "" { sub(/:.*/, ""); printf "make %-12s  %s\n", $$0, about } \
	     { about = "" }' $(firstword $(MAKEFILE_LIST))

# Isolates a CPU of this machine for real, measures before and after, undoes.
# ARGS="--cpus 3 --for 5s".
prove:
	@scripts/prove $(ARGS)

# Formatting, lints, and the tests that need only Rust.
# Needs neither root nor network nor other programs.
check:
	@$(XTASK) check

# `check`, the tests that measure and trace this machine, and a dozen guests.
# Installs what it needs first. The guests run real kernels.
test:
	@scripts/setup test
	@$(XTASK) test

# Everything: `test`, then all other guests.
test-all:
	@scripts/setup test
	@$(XTASK) test-all

# What `test-all` does beside `test`, which ran before.
# The closing line is over both.
test-rest:
	@scripts/setup test
	@$(XTASK) test-rest

# Only scenarios on real kernels.
# FILTER="apply_undo 6.12-rt".
lab:
	@scripts/setup test
	@$(XTASK) lab $(FILTER)

# Speed, memory and size, then bench-truth and bench-lab.
# On a machine with 1,024 CPUs, 10,000 interrupts and 100,000 threads, and what it costs to be traced.
bench:
	@scripts/setup prove
	@$(BENCH) speed
	@$(BENCH) recording
	@$(MAKE) --no-print-directory bench-truth; truth=$$?; $(MAKE) --no-print-directory bench-lab && exit $$truth

# Compares our samplers, oslat, cyclictest and sysjitter with known disturbances.
# Root, two CPUs, seven minutes. ARGS="--blocks 20 --seconds 3 --seed 7". Exit status 1 says that a ratio was lost.
bench-truth:
	@scripts/setup prove
	@$(BENCH) truth $(ARGS)

# Compares `blame` with disturbances whose class and culprit are known.
# One at a time and mixed, on this machine (root, two CPUs). ARGS="--only munmap,wake --count 50 --seed 7". Exit status 1 says that a bound was missed.
bench-blame:
	@scripts/setup prove
	@$(BENCH) blame $(ARGS)

# Compares predictions with what is then measured: the cells of `study which-knob` under disturbances of known kinds, and real boots.
# On this machine (root, two CPUs) and in guests, fifteen minutes. ARGS="--cpu 3 --for 5s --only timers,ipis". Exit status 1 says
# that a bound was missed.
bench-predict:
	@scripts/setup test
	@$(BENCH) predict $(ARGS); predict=$$?; $(XTASK) lab predicting_boots && exit $$predict

# Cost of `watch --daemon`: CPU time, wake-ups, memory.
# For a minute on this machine (root, two CPUs), and worked out for 64 CPUs, 500 interrupts and 2,000 threads; and what it does
# to a CPU that is isolated for that, for real, and returned. ARGS="--seconds 600". Exit status 1 says that a bound was missed.
# ARGS="--memory 900": instead, what it holds at the start, after a tenth and at the end while it drifts without end.
bench-daemon:
	@scripts/setup prove
	@$(BENCH) daemon $(ARGS)

# How fast a trace is decoded, compared with trace-cmd and awk.
# No root, three minutes.
bench-traces:
	@scripts/setup prove
	@$(BENCH) traces

# Apply and undo with 10,000 to 100,000 tasks, compared with cset and tuna.
# In one guest, also compared with a bare loop.
bench-lab:
	@scripts/setup test
	@$(XTASK) lab speed $(FILTER)

# The book, from docs/, in target/book. Open target/book/index.html.
docs:
	@scripts/setup docs
	@PATH="$(PATH):$${CARGO_TARGET_DIR:-target}/mdbook/bin" mdbook build docs

# A release in dist/: static binaries, tarballs, .deb, .rpm, lists of what is linked (SBOM), checksums.
# For x86-64, arm64 and armv7. The x86-64 binary is built twice and compared; the other two are started in an emulated machine.
dist:
	@scripts/setup dist
	@$(XTASK) dist

# Dependencies against deny.toml, with cargo-deny if it is installed.
# Licences, duplicates, sources; advisories if a database is here.
deny:
	@scripts/deny

# Writes the golden output and the generated pages of the book again.
# Read the diff before you commit it.
bless:
	@scripts/setup prove
	@QUIETCORE_BLESS=1 cargo test --quiet --locked --workspace
	@git status --short -- crates docs fixtures
