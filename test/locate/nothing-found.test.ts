// Why there is no session: each reason in its own words.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { unopenedLogs, whyNothing } from '../../src/locate/nothing-found.ts'
import type { Issue } from '../../src/types.ts'

let place: string
let root: string
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'dsh-ref-nothing-'))
  root = join(place, 'root')
  mkdirSync(root)
})
afterAll(() => rmSync(place, { recursive: true }))

const issue = (kind: Issue['kind'], file: string): Issue => ({ kind, message: 'm', file })

describe('the reason why nothing was found', () => {
  test('is none when there are sessions', () => {
    expect(whyNothing([root], 1, [issue('corrupt-log', 'x')])).toBeUndefined()
  })

  test('is that no root was given', () => {
    expect(whyNothing([], 0, [])).toBe('no sessions root is given; use --root')
  })

  test('names all roots when none of them exists', () => {
    const [one, two] = [join(place, 'one'), join(place, 'two')]
    expect(whyNothing([one, two], 0, [issue('unreadable-entry', one), issue('unreadable-entry', two)])).toBe(
      `the sessions roots ${one}, ${two} do not exist; name another with --root or $DSH_REF_ROOT`,
    )
  })

  test('counts logs that cannot be opened, and those alone', () => {
    const issues = [issue('corrupt-log', 'a'), issue('unsupported-log', 'b'), issue('unreadable-log', 'c')]
    expect(unopenedLogs([...issues, issue('stray-file', 'd')])).toBe(3)
    expect(whyNothing([root], 0, issues)).toContain(`none of the 3 session logs in ${root} can be read`)
    expect(whyNothing([root], 0, issues.slice(0, 1))).toContain(`the one session log in ${root} cannot be read`)
  })

  test('counts directories that nobody may look into', () => {
    const closed = [issue('unreadable-entry', join(root, 'a')), issue('unreadable-entry', join(root, 'b'))]
    expect(whyNothing([root], 0, closed)).toBe(`no session can be found in ${root}: 2 directories there cannot be read`)
  })

  test('is that a root is no directory', () => {
    const file = join(import.meta.dirname, 'nothing-found.test.ts')
    expect(whyNothing([file], 0, [])).toBe(
      `the sessions root ${file} lies below something that is no directory (ENOTDIR)`,
    )
  })
})
