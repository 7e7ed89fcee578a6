// Ordinary code and its documentation hold no secret: the READMEs and sources of what this project is built with. The
// whole of node_modules takes longer; docs/secrets.md says what it gave.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { findSecrets } from '../../src/secrets/find.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const LARGEST = 400_000

const { dependencies, devDependencies } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as Record<
  'dependencies' | 'devDependencies',
  Record<string, string>
>

/** Its comments show keys of Shopify that have the shape of real ones. */
const WITH_KEYS = '@secretlint/secretlint-rule-preset-recommend/module/'

const files = Object.keys({ ...dependencies, ...devDependencies })
  .flatMap((name) =>
    readdirSync(join(REPOSITORY, 'node_modules', name), { recursive: true, encoding: 'utf8' }).map(
      (file) => `${name}/${file}`,
    ),
  )
  .filter((file) => /\.(?:md|[cm]?js)$/.test(file) && !file.startsWith(WITH_KEYS))
  .filter((file) => {
    const { size } = statSync(join(REPOSITORY, 'node_modules', file))
    return size <= LARGEST
  })

test('the dependencies hold no secret', () => {
  expect(files.length).toBeGreaterThan(300)
  const found = files.flatMap((file) => {
    const text = readFileSync(join(REPOSITORY, 'node_modules', file), 'utf8')
    return findSecrets(text).map(({ kind, start, end }) => [file, kind, text.slice(start, end)])
  })
  expect(found).toEqual([])
})
