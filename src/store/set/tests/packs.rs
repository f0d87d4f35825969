//! Packs: how many a backup needs, and how much it writes.

use super::*;

/// Many backups need few packs, and the set does not keep what none needs.
#[test]
fn the_packs_of_a_backup_are_bounded() {
    let clock = clock();
    let store = options(&clock).open_on(new_disk()).unwrap();
    let (ada, set) = (session(&store), new_disk());
    let mut models = Vec::new();
    for round in 0..80 {
        clock.advance_ms(3_600_000);
        upload(&ada, round, 150);
        back_up(&store, &set).unwrap();
        models.push(Model::of(&store));
    }
    let opened = Set::seen(set.clone()).unwrap();
    let most = Manifests::of(&opened).unwrap().readable;
    let most = most.iter().map(|manifest: &Manifest| manifest.packs.len()).max().unwrap();
    assert!((2..=33).contains(&most), "{most}");
    for at in [1, 40, 80] {
        let model = &models[at as usize - 1];
        assert_restores(&set, RestorePoint::Backup(at), model, "of eighty");
    }
    let report = Store::prune_set_disk(&set, SetRetention::new(2, 0, 0), &control()).unwrap();
    assert_eq!(report.kept.len(), 2);
    for at in report.kept {
        assert_restores(&set, RestorePoint::Backup(at), &models[at as usize - 1], "after pruning");
    }
    assert!(walk(&*set, RECORDS).unwrap().len() <= 66);
}

/// Packs that are lost, cut off, mostly unused, or small among many, are not needed any more.
#[test]
fn worn_packs_are_written_again() {
    let disk = new_disk();
    let set = Set::made(disk.clone(), 1).unwrap();
    let pack = |pack: u64, bytes: u64, needed: u64| NeededPack { pack, bytes, needed };
    for number in 1..=40 {
        let path = pack_path(number);
        write_new_file(&*disk, &path, &[0; 70_000]).unwrap();
    }
    let worn = |packs: &[NeededPack]| -> Vec<u64> {
        let mut worn: Vec<u64> =
            dissolved(&set, packs, &Marks::default()).unwrap().into_iter().collect();
        worn.sort_unstable();
        worn
    };
    let packs = [
        pack(1, 70_000, 70_000),
        pack(2, 70_001, 70_001),
        pack(3, 70_000, 17_499),
        pack(4, 70_000, 17_500),
        pack(41, 70_000, 70_000),
    ];
    assert_eq!(worn(&packs), [2, 3, 41]);
    let many = |count: u64| -> Vec<NeededPack> {
        (1..=count).map(|number| pack(number, 70_000, 20_000 + number)).collect()
    };
    assert!(worn(&many(32)).is_empty());
    assert_eq!(worn(&many(33)), (1..=17).collect::<Vec<u64>>());
}

/// A backup writes little when little changed: at most 0.3 % of the store for a change of 0.1 %.
#[test]
fn an_hourly_backup_writes_little() {
    const FILES: u64 = 32;
    const FILE_BYTES: usize = 1024 * 1024;
    let clock = clock();
    let store = options(&clock).open_on(new_disk()).unwrap();
    let (ada, set) = (session(&store), new_disk());
    let mut random = Random::new(3);
    let mut content = |len: usize| -> Vec<u8> {
        (0..len.div_ceil(8)).flat_map(|_| random.next_u64().to_le_bytes()).take(len).collect()
    };
    let put = |bytes: &[u8]| {
        ada.upload_file(&mut &*bytes, UploadFileRequest::default(), &control()).unwrap();
    };
    let product = |number: u64| CreateProductRequest {
        part_number: format!("part {number}"),
        keywords: Some(vec!["red".to_owned(), format!("of station {}", number % 7)]),
        ..Default::default()
    };
    for _ in 0..FILES {
        put(&content(FILE_BYTES));
    }
    for first in (0..8_000).step_by(1_000) {
        let _ = ada.create_products((first..first + 1_000).map(product).collect()).unwrap();
    }
    maintain(&store);
    let first = back_up(&store, &set).unwrap();
    let bytes = first.written_bytes;
    assert!(bytes > FILES * FILE_BYTES as u64, "{first:?}");
    // A thousandth of the bytes in a file, a thousandth of the records changed here and there, and
    // as many that are new.
    for round in 0..3_u64 {
        clock.advance_ms(3_600_000);
        put(&content((bytes / 1_000) as usize));
        let page = ada.query_products(Default::default()).unwrap().products;
        let updates =
            page.into_iter().step_by(100).map(|product| crate::products::UpdateProductRequest {
                id: product.id.unwrap().to_string(),
                name: Some(format!("renamed {round}")),
                ..Default::default()
            });
        let _ = ada.update_products(updates.collect(), false).unwrap();
        let next = 10_000 + round * 10;
        let _ = ada.create_products((next..next + 8).map(product).collect()).unwrap();
        maintain(&store);
        let begun = std::time::Instant::now();
        let report = back_up(&store, &set).unwrap();
        println!(
            "a set of {bytes} bytes, {} of them written for a change of 0.1 %: {:.3} %, {:?}",
            report.written_bytes,
            report.written_bytes as f64 * 100.0 / bytes as f64,
            begun.elapsed()
        );
        assert_eq!(report.files_sent, 1);
        assert!(report.written_bytes * 1_000 <= 3 * bytes, "{report:?}");
    }
    assert!(Store::verify_set_disk(&set, &control()).unwrap().is_sound());
}
