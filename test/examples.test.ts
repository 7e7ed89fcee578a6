// Runs every example in the documentation of the library: `expression // => value` must hold.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as library from '../src/index.ts'

const SOURCE = fileURLToPath(new URL('../src', import.meta.url))
const BUILT = fileURLToPath(new URL('../dist/index.js', import.meta.url))
const ROOT = fileURLToPath(new URL('../fixtures/home/sessions', import.meta.url))

interface Example {
  readonly name: string
  readonly code: string
}

/** The examples above exported functions, as the documentation shows them. */
function examplesIn(file: string): Example[] {
  const source = readFileSync(join(SOURCE, file), 'utf8')
  const pattern = /\/\*\*(?:(?!\*\/)[\s\S])*?@example\n((?:(?!\*\/)[\s\S])*?)\*\/\s*export (?:async )?function (\w+)/g
  return [...source.matchAll(pattern)].map(([, body = '', name = '']) => ({
    name,
    code: body.replace(/^ *\* ?/gm, '').trim(),
  }))
}

/** A module that runs the example and fails where a value differs. */
function moduleOf({ code }: Example): string {
  const body = code.replace(/^(.*\S) +\/\/ => (.*)$/gm, 'assert.deepStrictEqual(await ($1), $2)')
  const names = Object.keys(library).join(', ')
  return [
    `import assert from 'node:assert'`,
    `import { ${names} } from ${JSON.stringify(pathToFileURL(BUILT).href)}`,
    `const root = ${JSON.stringify(ROOT)}`,
    body,
  ].join('\n')
}

const examples = readdirSync(SOURCE, { encoding: 'utf8', recursive: true })
  .filter((file) => file.endsWith('.ts'))
  .flatMap(examplesIn)
  .filter(({ name }) => name in library)

describe('the examples of the library', () => {
  let folder: string
  /** What went wrong in an example, by its name. */
  let faults: Record<string, string>

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'dsh-ref-examples-'))
    for (const example of examples) writeFileSync(join(folder, `${example.name}.mjs`), moduleOf(example))
    // One process for all: none of them changes anything that another sees.
    const names = JSON.stringify(examples.map(({ name }) => name))
    const runner = `const faults = {}
      for (const name of ${names}) await import(\`./\${name}.mjs\`).catch((error) => (faults[name] = String(error.stack)))
      console.log('\\n' + JSON.stringify(faults))`
    writeFileSync(join(folder, 'every example.mjs'), runner)
    const { stdout } = await execa(process.execPath, [join(folder, 'every example.mjs')])
    faults = JSON.parse(stdout.split('\n').at(-1) as string)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test.each(examples.map((example) => [example.name, example] as const))(
    '%s() does what its example says',
    (name, example) => {
      expect(example.code).toContain('// =>')
      expect(faults[name]).toBeUndefined()
    },
  )

  test('every function of the library has one', () => {
    const functions = Object.entries(library).filter(
      ([name, value]) => typeof value === 'function' && /^[a-z]/.test(name),
    )
    expect(examples.map(({ name }) => name).sort()).toEqual(functions.map(([name]) => name).sort())
  })
})
