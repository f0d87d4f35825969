//! stub
mod machine;
mod measure;
mod plot;
fn main() {
    let m = machine::Machine::look();
    println!("{m:?} {}", m.part_number());
    let mut s = measure::Sampler::new();
    let t = std::time::Instant::now();
    let mut all = vec![];
    let mut kept = vec![];
    for _ in 0..20 {
        let b = s.take(100_000, "x");
        for (c, (e, l)) in b
            .elapsed_ns
            .chunks(2000)
            .zip(b.loop_ns.chunks(2000))
            .map(|(a, b)| (a, b))
            .map(|x| (0, x))
            .map(|x| x.1)
            .map(|x| ((), x))
            .map(|(_, (e, l))| (0, (e, l)))
        {
            let _ = c;
            let i = (0..l.len()).max_by(|a, b| l[*a].total_cmp(&l[*b])).unwrap();
            let j = (0..l.len()).min_by(|a, b| l[*a].total_cmp(&l[*b])).unwrap();
            for k in [i.min(j), i.max(j)] {
                kept.push((e[k] as f64 / 1e9, l[k]));
            }
        }
        all.extend(b.elapsed_ns.iter().zip(&b.loop_ns).map(|(e, l)| (*e as f64 / 1e9, *l)));
    }
    println!("{:?}", t.elapsed());
    let t = std::time::Instant::now();
    plot::draw(
        std::path::Path::new("/tmp/p.png"),
        &plot::Plot {
            title: "Loop time",
            x_label: "seconds since the test began",
            y_label: "loop time (ns)",
            all: &all,
            kept: &kept,
            limit: Some(10_000.0),
            log_scale: true,
        },
    )
    .unwrap();
    println!("{:?} {:?}", t.elapsed(), measure::quantile(all.iter().map(|p| p.1).collect(), 0.99));
}
