"""Attestations: made, carried away, verified, and judged by the reference libraries of in-toto and DSSE."""

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_public_key,
)
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey  # type: ignore[attr-defined]

import coder_core.documents as declared
from coder_core import Refused, Store, StoreError, Task, TraceError, generate_key, verify_attestation
from conformance import breaches


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A new key."""
    path = tmp_path / "key"
    generate_key(path)
    return path


def public(key: Path) -> Path:
    """The other half's file."""
    return key.with_name(key.name + ".pub")


def test_a_statement_is_one_for_the_reference_library(store: Store, finished: Task) -> None:
    text = store.export("greet", "in-toto")
    read = json_format.Parse(text, statement_pb2.Statement())  # Refuses every field that the format does not have.
    Statement.copy_from_pb(read).validate()
    names = [subject.name for subject in read.subject]
    assert names[0] == "candidate"
    assert names[-2:] == ["candidate/greeting.txt", "candidate/na%FFme"]
    assert read.predicate_type.endswith("/task-run/v1")
    predicate = json.loads(text)["predicate"]
    assert predicate["result"] == finished["run"]["result"]
    spoilt = json.loads(text) | {"subject": []}
    with pytest.raises(ValueError, match="subject"):
        Statement.copy_from_pb(json_format.ParseDict(spoilt, statement_pb2.Statement())).validate()


def test_an_envelope_is_signed_for_the_reference_library(store: Store, finished: Task, key: Path) -> None:
    written = store.export("greet", "in-toto", sign=key)
    keyid = json.loads(written)["signatures"][0]["keyid"]
    known = SSlibKey.from_crypto(load_pem_public_key(public(key).read_bytes()), keyid=keyid)
    envelope = Envelope.from_dict(json.loads(written))
    assert list(envelope.verify([known], 1)) == [keyid]
    assert envelope.payload == store.export("greet", "in-toto").rstrip()
    envelope.payload += b" "
    with pytest.raises(VerificationError):
        envelope.verify([known], 1)


def test_a_key_of_another_tool_signs_and_verifies(store: Store, finished: Task, tmp_path: Path) -> None:
    made = Ed25519PrivateKey.generate()
    key = tmp_path / "foreign"
    key.touch(mode=0o600)
    key.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public(key).write_bytes(made.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    envelope = store.export("greet", "in-toto", sign=key)
    assert verify_attestation(envelope, key=public(key))["attestation"]["signature"] == "valid"


def test_verifying_with_and_without_the_store(store: Store, finished: Task, key: Path) -> None:
    envelope = store.export("greet", "in-toto", sign=key)
    alone = verify_attestation(envelope, key=public(key), task_id="greet")
    assert (alone["verdict"], alone["attestation"]["compared_with"]) == ("consistent", "nothing")
    compared = store.verify(attestation=envelope, key=public(key))
    assert (compared["verdict"], compared["attestation"]["compared_with"]) == ("verified", "store")
    for found in (alone, compared):
        assert list(breaches(found, declared.AttestationVerification)) == []
    statement = json.loads(store.export("greet", "in-toto"))
    statement["predicate"]["result"]["elapsed_ms"] += 1
    forged = store.verify("greet", attestation=json.dumps(statement).encode())
    assert forged["verdict"] == "mismatch"
    assert forged["first_mismatch"].startswith("predicate of turn 1 does not hold: `/result/elapsed_ms`")
    other = store.verify("other", attestation=envelope)
    assert other["first_mismatch"].startswith("task does not hold")


def test_a_document_is_held_against_the_store(store: Store, finished: Task) -> None:
    document = store.export("greet")
    assert json.loads(document) == store.export_atif("greet")
    assert store.verify("greet", document=document)["verdict"] == "verified"
    altered = document.replace(b"As recorded.", b"As imagined.", 1)
    assert store.verify(document=altered)["verdict"] == "mismatch"


def test_what_cannot_be_exported_or_verified(store: Store, finished: Task, key: Path, tmp_path: Path) -> None:
    key.chmod(0o644)
    codes = []
    for refused, act in (
        (Refused, lambda: store.export("greet", "in-toto", sign=key)),
        (Refused, lambda: store.export("greet", "in-toto", sign=tmp_path / "missing")),
        (Refused, lambda: generate_key(key)),
        (Refused, lambda: verify_attestation(b"{}")),
        (TraceError, lambda: store.verify(attestation=b'{"_type":"x"}')),
        (TraceError, lambda: store.verify(document=b"[]")),
        (StoreError, lambda: store.export("nobody", "in-toto")),
    ):
        with pytest.raises(refused) as raised:
            act()
        codes.append(raised.value.code)
    assert codes == [
        "key_not_private",
        "key_file",
        "key_file",
        "bad_envelope",
        "bad_attestation",
        "bad_attestation",
        "not_found",
    ]
    with pytest.raises(TypeError):
        store.verify()  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        store.verify("greet", key=key)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="format"):
        store.export("greet", "slsa")  # type: ignore[call-overload]
