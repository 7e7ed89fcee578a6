// The package as others get it: what is in it, its exports and types, and consumers of both module systems.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { publint } from 'publint'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url))

describe('the package', () => {
  let folder: string
  let tarball: string
  /** Bytes of the tarball, and of what is in it. */
  let sizes: { size: number; unpackedSize: number }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'dsh-ref-package-'))
    // The build is there already; packing must not start it again under the tests that use it.
    const { stdout } = await execa('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
      cwd: REPOSITORY,
    })
    const packed = JSON.parse(stdout)
    const [{ filename, size, unpackedSize }] = Array.isArray(packed) ? packed : Object.values(packed)
    sizes = { size, unpackedSize }
    tarball = join(folder, filename)
    mkdirSync(join(folder, 'consumer', 'node_modules'), { recursive: true })
    await execa('tar', ['-xzf', tarball, '-C', folder])
    symlinkSync(join(folder, 'package'), join(folder, 'consumer', 'node_modules', 'dsh-ref'))
    symlinkSync(join(REPOSITORY, 'node_modules'), join(folder, 'package', 'node_modules'))
  })

  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test('holds only what a user needs', async () => {
    const { stdout } = await execa('tar', ['-tzf', tarball])
    const tops = [...new Set(stdout.split('\n').map((path) => path.split('/')[1] ?? ''))].sort()
    expect(tops).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'bin', 'dist', 'docs', 'package.json', 'skills'])
    expect(stdout).not.toMatch(/\.map$|\.test\.|fixtures/m)
  })

  test('is no larger than the README says', () => {
    const readme = readFileSync(join(REPOSITORY, 'README.md'), 'utf8')
    const [, packed, unpacked] = /less than (\S+) MB \((\S+) MB unpacked\)/.exec(readme) ?? []
    expect(sizes.size).toBeLessThan(Number(packed) * 1e6)
    expect(sizes.unpackedSize).toBeLessThan(Number(unpacked) * 1e6)
  })

  test('has exports and types without a fault (publint)', async () => {
    const { messages } = await publint({ pkgDir: join(folder, 'package'), strict: true, pack: false })
    expect(messages).toEqual([])
  })

  test('has types that are right for ES modules (arethetypeswrong)', async () => {
    await execa('npx', ['--no-install', 'attw', tarball, '--profile', 'esm-only'], { cwd: REPOSITORY })
  })

  const example = `encodeSessionUri('abc') === 'dsh-session:ImFiYyI' || process.exit(1)`

  test('is imported by an ES module', async () => {
    const file = join(folder, 'consumer', 'module.mjs')
    writeFileSync(file, `import { encodeSessionUri } from 'dsh-ref'\n${example}`)
    await execa(process.execPath, [file])
  })

  test('is imported by a CommonJS module', async () => {
    const file = join(folder, 'consumer', 'common.cjs')
    writeFileSync(file, `import('dsh-ref').then(({ encodeSessionUri }) => { ${example} })`)
    await execa(process.execPath, [file])
  })
})
