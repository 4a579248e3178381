# Everything a person types here. Each target sets up what it needs (scripts/setup); nothing has to be done before.
.PHONY: prove check test test-all test-rest lab bench bench-truth bench-blame bench-daemon bench-traces bench-lab dist bless
PATH := $(PATH):$(HOME)/.cargo/bin
export PATH
# When the command was started; the table of stages begins with what was done before it could be printed.
export QUIETCORE_STARTED := $(shell date +%s)
XTASK := cargo run --quiet --locked -p xtask --
BENCH := cargo run --quiet --locked -p bench --

# Isolates a CPU of this machine for real, measures before and after, undoes. ARGS="--cpus 3 --for 5s".
prove:
	@scripts/prove $(ARGS)

# Formatting, lints, and the tests that need nothing but Rust: neither root nor network nor other programs.
check:
	@$(XTASK) check

# Installs what it needs, then `check`, the tests that measure and trace this machine, and a dozen guests on real kernels.
test:
	@scripts/setup test
	@$(XTASK) test

# Everything: `test`, then all other guests.
test-all:
	@scripts/setup test
	@$(XTASK) test-all

# What `test-all` does beside `test`, which ran before. The closing line is over both.
test-rest:
	@scripts/setup test
	@$(XTASK) test-rest

# Only scenarios on real kernels. FILTER="apply_undo 6.12-rt".
lab:
	@scripts/setup test
	@$(XTASK) lab $(FILTER)

# Speed, memory and size on a machine with 1,024 CPUs, 10,000 interrupts and 100,000 threads, and what it costs to be traced;
# then bench-truth, bench-lab.
bench:
	@scripts/setup prove
	@$(BENCH) speed
	@$(BENCH) recording
	@$(MAKE) --no-print-directory bench-truth; truth=$$?; $(MAKE) --no-print-directory bench-lab && exit $$truth

# Only the samplers: ours, oslat, cyclictest and sysjitter against disturbances that are known exactly (root, two CPUs,
# seven minutes). ARGS="--blocks 20 --seconds 3 --seed 7". Exit status 1 says that a ratio was lost.
bench-truth:
	@scripts/setup prove
	@$(BENCH) truth $(ARGS)

# Only blame: disturbances whose class and culprit are known, one at a time and mixed, on this machine (root, two CPUs).
# ARGS="--only munmap,wake --count 50 --seed 7". Exit status 1 says that a bound was missed.
bench-blame:
	@scripts/setup prove
	@$(BENCH) blame $(ARGS)

# Only `watch --daemon`: its part of a CPU, wake-ups, memory and CPUs for a minute on this machine (root, two CPUs), and worked
# out for 64 CPUs, 500 interrupts and 2,000 threads; and what it does to a CPU that is isolated for that, for real, and given
# back. ARGS="--seconds 600". Exit status 1 says that a bound was missed.
# ARGS="--memory 900": instead, what it holds at the start, after a tenth and at the end while it drifts without end.
bench-daemon:
	@scripts/setup prove
	@$(BENCH) daemon $(ARGS)

# Only how fast a trace is decoded, beside trace-cmd and awk (no root, three minutes).
bench-traces:
	@scripts/setup prove
	@$(BENCH) traces

# Only the lab's part of it: apply and undo with 10,000 to 100,000 tasks, beside a bare loop, cset and tuna in one guest.
bench-lab:
	@scripts/setup test
	@$(XTASK) lab speed $(FILTER)

# Static binaries for x86-64, arm64 and armv7 in dist/, the latter two started in an emulated machine.
dist:
	@scripts/setup dist
	@$(XTASK) dist

# Writes the golden output and the generated pages of the book again. Read the diff before you commit it.
bless:
	@scripts/setup prove
	@QUIETCORE_BLESS=1 cargo test --quiet --locked --workspace
	@git status --short -- fixtures
