#!/usr/bin/env bash
# A CPU-only libtorch for the cargo feature `torch`, in .libtorch beside Cargo.toml.
#
#   scripts/setup-libtorch.sh [--dest DIR] [--wheels DIR]
#
#     --dest DIR     where it goes (default: .libtorch of this repository; cargo finds it there without any variable)
#     --wheels DIR   keep the downloaded wheels here, and take them from here when they are there
#
# Downloads three wheels (540 MB) with pip, by exact SHA-256: torch 2.13.0, which is what tch 0.26 is written for, and
# the two small CUDA libraries that the profiler inside libtorch_cpu.so names. Unpacks the CPU half (400 MB). Needs Linux
# on x86-64 with glibc 2.28 or newer, Python 3 with pip, a C compiler; no root, no GPU. A second run does nothing.
#
# The result is for this machine only: the two CUDA libraries may not be passed on (their licences lie beside them).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
dest=$here/.libtorch
wheels=
while (($#)); do
    case $1 in
        --dest)    dest=${2:?--dest needs a folder}; shift 2 ;;
        --wheels)  wheels=${2:?--wheels needs a folder}; shift 2 ;;
        -h|--help) sed -n '2,/^set -/p' "${BASH_SOURCE[0]}" | sed '$d; s/^# \{0,1\}//'; exit 0 ;;
        *)         echo "setup-libtorch: unknown option $1 (--help shows all)" >&2; exit 2 ;;
    esac
done
fail() { echo "setup-libtorch: $*" >&2; exit 1; }

version=2.13.0
# project, version, file, SHA-256
packages=(
    "torch $version torch-$version-cp311-cp311-manylinux_2_28_x86_64.whl 60fcdcb2f3876e21146cb4524ef06397d727ca9ad5f020818547e25075fe3cb7"
    "nvidia-cuda-runtime 13.0.96 nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl 7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548"
    "nvidia-cuda-cupti 13.0.85 nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_x86_64.whl 4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8"
)

[[ $(uname -sm) == "Linux x86_64" ]] || fail "this recipe is for Linux on x86-64; elsewhere unpack a libtorch $version and set LIBTORCH"
for tool in python3 cc sha256sum; do command -v "$tool" >/dev/null || fail "$tool is not installed"; done

mkdir -p "$dest"
dest=$(cd "$dest" && pwd -P)
stamp="$version ${packages[*]##* }"
if [[ -f $dest/complete && $(<"$dest/complete") == "$stamp" ]]; then
    echo "setup-libtorch: libtorch $version is already in $dest" >&2
    exit 0
fi
rm -rf "$dest"/{complete,lib,include,licenses}

if [[ -z $wheels ]]; then
    wheels=$(mktemp -d "$dest/wheels.XXXXXX")
    trap 'rm -rf "$wheels"' EXIT
fi
mkdir -p "$wheels"
files=()
for package in "${packages[@]}"; do
    read -r project number file sum <<<"$package"
    if ! echo "$sum  $wheels/$file" | sha256sum --check --status 2>/dev/null; then
        echo "setup-libtorch: downloading $project $number" >&2
        echo "$project==$number --hash=sha256:$sum" >"$wheels/$project.txt"
        # The platforms make pip take this very file whatever Python runs it.
        python3 -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps --require-hashes \
            --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 --abi none \
            --platform manylinux_2_28_x86_64 --platform manylinux_2_25_x86_64 \
            --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
            --dest "$wheels" --requirement "$wheels/$project.txt"
        echo "$sum  $wheels/$file" | sha256sum --check --status || fail "$file does not have the expected SHA-256"
    fi
    files+=("$wheels/$file")
done

echo "setup-libtorch: unpacking the CPU half" >&2
python3 - "$dest" "${files[@]}" <<'PY'
import pathlib, shutil, sys, zipfile

dest = pathlib.Path(sys.argv[1])
libraries = {"libtorch_cpu.so", "libc10.so", "libgomp.so.1", "libcudart.so.13", "libcupti.so.13"}
for wheel in sys.argv[2:]:
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            path = pathlib.PurePosixPath(entry.filename)
            if entry.is_dir():
                continue
            if path.parent.name == "lib" and path.name in libraries:
                target = dest / "lib" / path.name
                libraries.discard(path.name)
            elif path.parts[:2] == ("torch", "include"):
                target = dest.joinpath(*path.parts[1:])
            elif path.parts[0].endswith(".dist-info") and "license" in entry.filename.lower():
                target = dest / "licenses" / path.parts[0].removesuffix(".dist-info") / path.name
            else:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, open(target, "wb") as out:
                shutil.copyfileobj(source, out, 1 << 20)
if libraries:
    sys.exit(f"setup-libtorch: not in the wheels: {sorted(libraries)}")
PY
if command -v strip >/dev/null; then strip --strip-unneeded "$dest"/lib/libtorch_cpu.so "$dest"/lib/libc10.so; fi

# The wheel's libtorch.so pulls the CUDA half in; this one names the CPU half only.
echo 'int libtorch_of_the_cpu;' | cc -shared -fPIC -x c - -o "$dest/lib/libtorch.so" \
    -Wl,-soname,libtorch.so -Wl,--no-as-needed -Wl,--allow-shlib-undefined \
    -Wl,-rpath,'$ORIGIN' -Wl,-rpath-link,"$dest/lib" -L"$dest/lib" -ltorch_cpu -lc10

echo "$version+cpu" >"$dest/build-version"
printf '[env]\nLIBTORCH = "%s"\nLIBTORCH_CXX11_ABI = "1"\n' "$dest" >"$dest/cargo.toml"
printf 'export LIBTORCH="%s"\nexport LIBTORCH_CXX11_ABI=1\n' "$dest" >"$dest/env.sh"

# The loader must find every symbol before this counts as done.
python3 -c 'import ctypes, os, sys; ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW | os.RTLD_GLOBAL)' "$dest/lib/libtorch.so"
echo "$stamp" >"$dest/complete"
echo "setup-libtorch: libtorch $version is in $dest; now: cargo build --release --features torch" >&2
