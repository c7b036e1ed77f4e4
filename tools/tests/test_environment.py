# SPDX-License-Identifier: GPL-2.0
"""Tests of the cache, of copies of the sources, and of the guest's parts."""

import io
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from rbdev import command, debug, in_tree, initramfs, stock, tree, vm
from rbdev.cache import Cache
from rbdev.errors import Failure


class Folder(unittest.TestCase):
    """A test with a folder of its own that is also the cache's place."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.path = Path(holder.name)
        patch = mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.path / "cache")})
        patch.start()
        self.addCleanup(patch.stop)


class CacheTest(Folder):
    def test_an_entry_is_built_once(self):
        calls = []
        for _ in range(2):
            path = Cache().get("kind", "key", lambda folder: calls.append((folder / "file").write_text("x")), 0)
        self.assertEqual(len(calls), 1)
        self.assertEqual((path / "file").read_text(), "x")

    def test_an_entry_is_on_the_disk_before_it_has_its_name(self):
        seen = []

        def settle(path):
            names = sorted(entry.name.partition(".")[0] + entry.suffix.rstrip("0123456789") for entry in path.parent.glob("key*"))
            seen.append((path.name.startswith("key.tmp"), names))

        with mock.patch("rbdev.cache.settle", settle):
            Cache().get("kind", "key", lambda folder: None, 0)
        self.assertEqual(seen[0], (True, ["key.tmp"]))
        self.assertEqual(len(seen), 2)

    def test_what_cannot_be_written_is_no_entry(self):
        with mock.patch("rbdev.cache.settle", side_effect=OSError(5, "disk")), self.assertRaisesRegex(Failure, "cannot fill"):
            Cache().get("kind", "key", lambda folder: None, 0)
        self.assertEqual(list((Cache().path / "kind").iterdir()), [])

    def test_an_interrupted_build_leaves_nothing(self):
        def build(folder):
            (folder / "half").write_text("x")
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            Cache().get("kind", "key", build, 0)
        self.assertEqual(list((Cache().path / "kind").iterdir()), [])

    def test_what_a_killed_run_left_is_removed(self):
        stale = Cache().path / "kind" / "key.tmp1"
        stale.mkdir(parents=True)
        Cache().get("kind", "key", lambda folder: None, 0)
        self.assertFalse(stale.exists())

    def test_too_little_space_is_said_before_the_build(self):
        with self.assertRaisesRegex(Failure, "no disk space"):
            Cache().get("kind", "key", lambda folder: self.fail("built"), 1e9)


class CommandTest(Folder):
    def test_the_reason_is_found_in_the_output(self):
        for text, words in (("No space left on device", "no space"), ("Could not resolve 'x'", "no network"), ("?", "status 3")):
            with self.assertRaisesRegex(Failure, words):
                command.run(["sh", "-c", 'echo "$1"; exit 3', "sh", text], log=self.path / "log", what="it")


class TreeTest(Folder):
    def test_only_changes_are_written(self):
        source, copy = self.path / "a", self.path / "b"
        (source / "part").mkdir(parents=True)
        (source / "one.rs").write_text("1")
        (source / "part" / "two.rs").write_text("2")
        (source / "one.o").write_text("result")
        (source / "tools").mkdir()
        (source / "tools" / "dev").write_text("apart")
        tree.sync(copy, source)
        self.assertFalse((copy / "one.o").exists() or (copy / "tools").exists())
        os.utime(copy / "one.rs", (1, 1))
        (copy / "one.ko").write_text("built")
        (source / "part" / "two.rs").unlink()
        tree.sync(copy, source)
        self.assertEqual((copy / "one.rs").stat().st_mtime, 1)
        self.assertFalse((copy / "part" / "two.rs").exists())
        self.assertTrue((copy / "one.ko").exists())


class PruneTest(Folder):
    def build_folder(self, name):
        checkout = self.path / name
        checkout.mkdir()
        return checkout, tree.build_folder(Cache(), checkout)

    def test_results_of_a_checkout_that_is_gone_go(self):
        (_, kept), (gone, removed) = self.build_folder("a"), self.build_folder("b")
        gone.rmdir()
        self.assertEqual(tree.prune(Cache()), [removed])
        self.assertTrue(kept.is_dir() and not removed.exists())

    def test_results_that_nobody_used_for_long_go(self):
        (_, used), (_, old), unknown = self.build_folder("a"), self.build_folder("b"), Cache().path / "build" / "c"
        unknown.mkdir()
        os.utime(old / tree.OWNER, (1, 1))
        os.utime(unknown, (1, 1))
        self.assertCountEqual(tree.prune(Cache()), [old, unknown])
        self.assertTrue(used.is_dir())

    def test_results_that_another_run_uses_stay(self):
        gone, folder = self.build_folder("a")
        gone.rmdir()
        with Cache().lock(f"cargo-{folder.name}"):
            self.assertEqual(tree.prune(Cache()), [])
        self.assertEqual(tree.prune(Cache()), [folder])

    def test_a_new_run_prunes(self):
        gone, folder = self.build_folder("a")
        gone.rmdir()
        tree._prune_once.cache_clear()
        with mock.patch("rbdev.progress.say"):
            self.build_folder("b")
        self.assertFalse(folder.exists())


class LayerTest(Folder):
    def lines(self, kind):
        kernel = SimpleNamespace(source=Path("/s"), build=Path("/b"), root=Path("/r"))
        with mock.patch("rbdev.command.capture", return_value=f"{kind}\n"):
            return in_tree.layers(kernel, self.path / "layers")

    def test_changes_go_to_the_disk(self):
        lines = self.lines("ext2/ext3")
        self.assertEqual([line.split()[2] for line in lines if line.startswith("mount")], ["overlay", "overlay"])

    def test_changes_above_an_overlay_go_to_memory(self):
        self.assertEqual(self.lines("overlayfs")[0], f"mount -t tmpfs tmpfs {self.path}/layers")


class GuestTest(Folder):
    @unittest.skipUnless(shutil.which("cpio"), "no cpio here")
    def test_cpio_unpacks_the_archive(self):
        out = io.BytesIO()
        archive = initramfs.Archive(out)
        archive.file("deep/er/file", b"hello")
        archive.link("deep/link", "er/file")
        archive.end()
        listing = subprocess.run(["cpio", "-tv", "--quiet"], input=out.getvalue(), capture_output=True, check=True).stdout.decode()
        self.assertIn("deep/er/file", listing)
        self.assertIn("deep/link -> er/file", listing)

    def test_the_reader_finds_lines_and_the_end(self):
        seen = []
        reader = vm._Reader(seen.append)
        for piece in (b"RBDEV-STA", b"RT\r\none\r\nt", b"wo\r\nno end RBDEV-EXIT 3\r\n"):
            reader.feed(piece)
        self.assertTrue(reader.started)
        self.assertEqual(reader.status, 3)
        self.assertEqual(seen, ["one", "two", "no end "])


class KernelTest(unittest.TestCase):
    def test_lost_options_are_found(self):
        fragment = "# words\nCONFIG_A=y\nCONFIG_B=m\n# CONFIG_C is not set\n# CONFIG_D is not set\n"
        self.assertEqual(debug.lost_options(fragment, "CONFIG_A=y\nCONFIG_D=y\n"), ["CONFIG_B=m", "# CONFIG_D is not set"])

    def test_a_later_fragment_overrides(self):
        merged = debug.merged("# words\nCONFIG_A=y\nCONFIG_B=y\n", "# CONFIG_A is not set\nCONFIG_C=1\n")
        self.assertEqual(merged, "# CONFIG_A is not set\nCONFIG_B=y\nCONFIG_C=1\n")

    def test_every_debug_kernel_has_its_fragments(self):
        for name in debug.VARIANTS:
            self.assertIn("CONFIG_RUST=y\n", debug.fragment(name))

    def test_releases_are_sorted_by_number(self):
        self.assertGreater(stock.version_key("7.3.10+deb13-amd64"), stock.version_key("7.3.9+deb13-amd64"))


if __name__ == "__main__":
    unittest.main()
