//! Computes exact tails of the binomial and the Poisson distribution, for counts up to billions.
//!
//! The largest term uses C. Loader's saddle-point form ("Fast and Accurate Computation of Binomial
//! Probabilities", 2000), which avoids cancellation between large logarithms; the others follow by ratio.

use std::f64::consts::TAU;

/// The probability of at most `k` of `n` if each has the probability `p`.
pub(super) fn binomial_at_most(k: u64, n: u64, p: f64) -> f64 {
    if k >= n || p <= 0.0 {
        return 1.0;
    }
    if p >= 1.0 {
        return 0.0;
    }
    let (count, all) = (k as f64, n as f64);
    let ratio = |at: f64| at * (1.0 - p) / ((all - at + 1.0) * p);
    match count <= all * p {
        true => binomial(count, all, p) * falling(count, ratio),
        // Above the middle, the other tail is shorter.
        false => {
            let next = count + 1.0;
            let rising = |at: f64| (all - at) * p / ((at + 1.0) * (1.0 - p));
            1.0 - binomial(next, all, p) * climbing(next, all, rising)
        }
    }
}

/// The probability of at most `k` events if `mean` are expected.
pub(super) fn poisson_at_most(k: u64, mean: f64) -> f64 {
    if mean <= 0.0 {
        return 1.0;
    }
    let count = k as f64;
    match count <= mean {
        true => poisson(count, mean) * falling(count, |at| at / mean),
        false => {
            let next = count + 1.0;
            1.0 - poisson(next, mean) * climbing(next, f64::INFINITY, |at| mean / (at + 1.0))
        }
    }
}

/// The point between two values where `is_low` becomes false, to full precision.
pub(super) fn bisect(mut low: f64, mut high: f64, is_low: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if is_low(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// The sum of all terms from `from` down to 0, relative to the first.
fn falling(from: f64, ratio: impl Fn(f64) -> f64) -> f64 {
    let (mut sum, mut term, mut at) = (1.0, 1.0, from);
    while at > 0.0 && term > sum * f64::EPSILON / 16.0 {
        term *= ratio(at);
        sum += term;
        at -= 1.0;
    }
    sum
}

/// The sum of all terms from `from` up to `last`, relative to the first.
fn climbing(from: f64, last: f64, ratio: impl Fn(f64) -> f64) -> f64 {
    let (mut sum, mut term, mut at) = (1.0, 1.0, from);
    while at < last && term > sum * f64::EPSILON / 16.0 {
        term *= ratio(at);
        sum += term;
        at += 1.0;
    }
    sum
}

/// The probability of exactly `k` of `n`.
fn binomial(k: f64, n: f64, p: f64) -> f64 {
    if k == 0.0 {
        return (n * (-p).ln_1p()).exp();
    }
    if k == n {
        return p.powf(n);
    }
    let error = stirling_error(n) - stirling_error(k) - stirling_error(n - k);
    let away = deviance(k, n * p) + deviance(n - k, n * (1.0 - p));
    (n / (TAU * k * (n - k))).sqrt() * (error - away).exp()
}

/// The probability of exactly `k` events.
fn poisson(k: f64, mean: f64) -> f64 {
    if k == 0.0 {
        return (-mean).exp();
    }
    (-stirling_error(k) - deviance(k, mean)).exp() / (TAU * k).sqrt()
}

/// ln n! minus Stirling's formula, n >= 1.
fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        let mut factorial = 0.0;
        let mut at = 2.0;
        while at <= n {
            factorial += f64::ln(at);
            at += 1.0;
        }
        return factorial - (0.5 * (TAU * n).ln() + n * n.ln() - n);
    }
    let square = n * n;
    (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1_260.0 - 1.0 / 1_680.0 / square) / square) / square) / n
}

/// x ln(x / mean) + mean - x, without cancellation if the two are close.
fn deviance(x: f64, mean: f64) -> f64 {
    let off = x - mean;
    if off.abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() - off;
    }
    // With v = off / (x + mean): ln(x / mean) = 2 (v + v^3/3 + v^5/5 ...).
    let v = off / (x + mean);
    let mut sum = off * v;
    let mut power = 2.0 * x * v;
    let mut odd = 3.0;
    loop {
        power *= v * v;
        let next = sum + power / odd;
        if next == sum {
            return sum;
        }
        sum = next;
        odd += 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tail_probabilities_agree_with_direct_sums() {
        for (n, p) in [(1_u64, 0.3), (20, 0.05), (20, 0.9), (50, 0.5)] {
            let mut sum = 0.0;
            let mut ways = 1.0;
            for k in 0..=n {
                sum += ways * f64::powi(p, k as i32) * f64::powi(1.0 - p, (n - k) as i32);
                ways *= (n - k) as f64 / (k + 1) as f64;
                let ours = binomial_at_most(k, n, p);
                assert!((ours - sum.min(1.0)).abs() < 1e-12, "{k} of {n} at {p}: {ours} {sum}");
            }
        }
        for mean in [0.1_f64, 3.0, 40.0] {
            let (mut sum, mut term) = (0.0, (-mean).exp());
            for k in 0..60_u64 {
                sum += term;
                term *= mean / (k + 1) as f64;
                let ours = poisson_at_most(k, mean);
                assert!((ours - sum).abs() < 1e-12, "{k} of {mean}: {ours} {sum}");
            }
        }
    }
}
