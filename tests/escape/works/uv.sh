# uv makes an environment and installs a wheel into it, with its cache where a cache is private.
set -e
mkdir -p w/made-1.0.dist-info && printf 'VALUE = 42\n' >w/made.py
printf 'Metadata-Version: 2.1\nName: made\nVersion: 1.0\n' >w/made-1.0.dist-info/METADATA
printf 'Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n' >w/made-1.0.dist-info/WHEEL
printf 'made.py,,\nmade-1.0.dist-info/METADATA,,\nmade-1.0.dist-info/WHEEL,,\nmade-1.0.dist-info/RECORD,,\n' >w/made-1.0.dist-info/RECORD
(cd w && python3 -m zipfile -c ../made-1.0-py3-none-any.whl made.py made-1.0.dist-info)
"$TOOLS/uv" --offline -q venv --python /usr/bin/python3 env
"$TOOLS/uv" --offline -q pip install --python env/bin/python ./made-1.0-py3-none-any.whl
env/bin/python -c 'import made; assert made.VALUE == 42'
echo works
