//! Compressors, archivers, and what splits files.

use super::{case, check};

#[test]
fn an_archiver_runs_nothing_and_writes_no_other_file() {
    check(&[
        case(
            "zstd",
            &[
                "zstd -dc x.zst",
                "zstd -t x.zst",
                "zstd -l x.zst",
                "zstd -19 -T0 -k x",
                "zstd --ultra -22 --long=27 x",
                "zstd -q x",
            ],
            &[
                "zstd -o M x",
                "zstd -oM x",
                "zstd x -o M",
                "zstd -19qo M x",
                "zstd -dfo M x.zst",
                "zstd -T0o M x",
                "zstd -qM128MBo M x",
                "zstd --output-dir-flat=M x",
                "zstd --output-dir-flat M x",
                "zstd --output-dir-mirror=M x",
                "zstd --trace M x",
                "zstd --train x -o M",
                "zstd --train x",
                "zstd --rm x",
                "zstd --surprise x",
            ],
        ),
        case("unzstd", &["unzstd -c x.zst"], &["unzstd -o M x.zst", "unzstd x.zst -fo M"]),
        case(
            "gzip",
            &["gzip -dc x.gz", "gzip -l x.gz", "gzip -9k x", "gzip --best x"],
            &["gzip --surprise x"],
        ),
        case(
            "xz",
            &["xz -dc x.xz", "xz -l x.xz", "xz -T0 -9e -k x", "xz --threads=4 --keep x"],
            &["xz --surprise x"],
        ),
        case("bzip2", &["bzip2 -dc x.bz2", "bzip2 -k9 x"], &["bzip2 --surprise x"]),
        case(
            "lz4",
            &["lz4 -dc x.lz4", "lz4 -t x.lz4"],
            &["lz4 x M", "lz4 -d x.lz4 M", "lz4 -9 -f x M", "lz4 -BDf x M", "lz4 --surprise x"],
        ),
        case("7z", &["7z l x.7z", "7z t x.7z", "7z l -slt x.7z"], &["7z t x -w M"]),
        case(
            "zip",
            &["zip -r x.zip dir", "zip -qr9 x.zip dir -x '*.git*'", "zip -sf x.zip"],
            &[
                "zip -TT ./x y.zip y",
                "zip -T -TT ./x y.zip y",
                "zip --unzip-command ./x -T y.zip y",
                "zip --unzip-c=./x -T y.zip y",
                "zip -rTT./x y.zip y",
                "zip -O M x.zip",
                "zip --out M x.zip",
                "zip -lf M x.zip y",
                "zip --logfile-path=M x.zip y",
                "zip -rlfM x.zip y",
                "zip -m x.zip y",
                "zip -rm x.zip y",
                "zip --move x.zip y",
                "zip -b M x.zip y",
                "zip --surprise x.zip y",
            ],
        ),
        case(
            "cpio",
            &["cpio -itv", "cpio -o", "cpio -ov -H newc"],
            &[
                "cpio -o -O M",
                "cpio -ovOM",
                "cpio -o -F M",
                "cpio -oF M",
                "cpio -o --file=M",
                "cpio -i --rsh-command=./x -F h:y",
                "cpio -i --rsh-c=./x -F h:y",
                "cpio --surprise -t",
            ],
        ),
        case(
            "ar",
            &["ar t x.a", "ar -tv x.a", "ar p x.a y.o"],
            &["ar --plugin ./x t y.a", "ar t --plugin=./x y.a", "ar @x", "ar -M < x", "ar --output=M x x.a"],
        ),
        case(
            "bsdtar",
            &["bsdtar -tf x", "bsdtar -xf x"],
            &[
                "bsdtar --use-compress-program ./x -xf y",
                "bsdtar --use-compress-p=./x -tf y",
                "bsdtar --surprise -tf y",
            ],
        ),
        case(
            "split",
            &["split --help"],
            &["split x", "split -l 5 x M", "split --filter=./x y", "split -dl5 x M"],
        ),
        case(
            "csplit",
            &["csplit --version"],
            &[
                "csplit x 5",
                "csplit -f M x 5",
                "csplit -sfM x 5",
                "csplit --pref=M x 5",
                "csplit x 5 -z",
                "csplit --surprise x 5",
            ],
        ),
    ]);
}
