// The JSON Schemas of the package against what the program really prints, by a validator that is not zod.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chatLog } from './support/chat-log.ts'
import { makeHome } from './support/homes.ts'
import { run } from './support/program.ts'

const FIXTURES = fileURLToPath(new URL('../fixtures/home/sessions', import.meta.url))
const README = readFileSync(new URL('../docs/schemas.md', import.meta.url), 'utf8')

const home = makeHome()
const directory = mkdtempSync(join(tmpdir(), 'dsh-ref-schemas-'))
const ajv = new Ajv2020({ strict: true, allowUnionTypes: true })
let validate: (name: string, value: unknown) => string

beforeAll(async () => {
  home.write(chatLog('cut-session', [{ user: 'a'.repeat(2000) }, { assistant: 'b' }]))
  home.write(chatLog('corrupt-session', [{ user: 'a' }, { checkpoint: 'b', from: 5, to: 9, sources: [5] }]))
  expect(await run(['__assets', directory])).toMatchObject({ status: 0 })
  const schemas = new Map(
    readdirSync(join(directory, 'schemas')).map((name) => [
      name.replace('.schema.json', ''),
      ajv.compile(JSON.parse(readFileSync(join(directory, 'schemas', name), 'utf8'))),
    ]),
  )
  validate = (name, value) => {
    const check = schemas.get(name)
    if (!check) throw new Error(`There is no schema ${name}`)
    return check(value) ? 'valid' : ajv.errorsText(check.errors)
  }
})

afterAll(() => {
  home.remove()
  rmSync(directory, { recursive: true, force: true })
})

const outputOf = async (...args: string[]) => JSON.parse((await run(args)).stdout)
const errorOf = async (...args: string[]) => JSON.parse((await run([...args, '--error-format', 'json'])).stderr)

describe.each([FIXTURES, home.root])('with the sessions of %s', (root) => {
  const ref = root === FIXTURES ? 'login-fix' : 'cut-session'

  test.each<[string, readonly string[]]>([
    ['list', ['list', '--format', 'json']],
    ['list', ['list', '--format', 'json', '--health', 'torn']],
    ['list-fields', ['list', '--format', 'json', '--fields', 'sessionId,health']],
    ['search', ['search', '-e', '.', '--format', 'json']],
    ['search', ['search', '-e', '.', '--format', 'json', '--tools', '--all', '--current', '--role', 'user']],
    ['prepare', ['prepare', 'x', '--ref', ref, '--format', 'json']],
    ['prepare', ['prepare', 'x', '--ref', ref, '--format', 'json', '--max-reference-bytes', '300']],
    ['prepare', ['prepare', 'x', '--format', 'json']],
    ['prepare-dry-run', ['prepare', 'x', '--ref', ref, '--format', 'json', '--dry-run']],
    ['surface', ['surface', ref, '--format', 'json']],
    ['check', ['check', '--all', '--format', 'json']],
    ['check', ['check', ref, 'no-such-session', '--format', 'json']],
  ])('%s takes what "%j" prints', async (name, args) => {
    const { stdout } = await run([...args, '--root', root])
    // A refusal prints nothing; that it is one is the error schema's business.
    if (stdout !== '') expect(validate(name, JSON.parse(stdout))).toBe('valid')
    else expect(validate('error', await errorOf(...args, '--root', root))).toBe('valid')
  })
})

test('takes what a salvaged log gives', async () => {
  const args = ['--root', home.root, '--salvage', '--format', 'json']
  expect(validate('prepare', await outputOf('prepare', 'x', '--ref', 'corrupt-session', ...args))).toBe('valid')
  expect(validate('surface', await outputOf('surface', 'corrupt-session', ...args))).toBe('valid')
})

test.each([
  [['uri', 'decode', 'x']],
  [['nonsense']],
  [['surface', 'nothing-there', '--root', FIXTURES]],
  [['surface', 'corrupt-session', '--root', home.root]],
  [['prepare', 'x', '--ref', 'login-fix', '--root', FIXTURES, '--max-reference-bytes', '1']],
])('error takes what %j says', async (args) => {
  expect(validate('error', await errorOf(...args))).toBe('valid')
})

test('refuses what is none', async () => {
  const surface = await outputOf('surface', 'login-fix', '--root', FIXTURES, '--format', 'json')
  expect(validate('surface', { ...surface, more: 1 })).toContain('additional properties')
  expect(validate('surface', { ...surface, schemaVersion: 2 })).not.toBe('valid')
  expect(validate('config', { maxReferences: 4 })).not.toBe('valid')
  expect(validate('config', { $schema: 'x', roots: ['a'], maxReferences: 3 })).toBe('valid')
})

test('every schema is named in docs/schemas.md', () => {
  const names = readdirSync(join(directory, 'schemas'))
  expect(names.filter((name) => !README.includes(`\`${name}\``))).toEqual([])
})

test('the build writes the man page beside them', () => {
  expect(readFileSync(join(directory, 'man', 'dsh-ref.1'), 'utf8')).toMatch(/^\.TH DSH/)
})
