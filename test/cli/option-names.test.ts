// What the library calls by its fields, the command line calls by its options.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { prepare } from '../../src/pipeline.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { run } from '../support/program.ts'
import { logOf, user } from '../support/rows.ts'

/** An id that holds the name of a field, which is not the command line's to change. */
const ID = 'about maxReferenceBytes'

let home: Home
beforeAll(() => {
  home = makeHome()
  home.write(logOf(4, [user('a question')], { id: ID }))
})
afterAll(() => home.remove())

test('the budget error names the option on the command line, in its message and its facts', async () => {
  const args = ['prepare', 'go on', '--ref', `id:${ID}`, '--root', home.root, '--max-reference-bytes', '10']
  const { status, stdout, stderr } = await run([...args, '--error-format', 'json'])
  expect({ status, stdout }).toEqual({ status: 5, stdout: '' })
  const { error } = JSON.parse(stderr)
  expect(error).toMatchObject({ option: '--max-reference-bytes', sessionId: ID })
  expect(error.message).toContain(`Session "${ID}" takes`)
  expect(error.message).toContain(`raise --max-reference-bytes to at least ${error.neededBytes}`)
})

test('the budget error names the field in the library', async () => {
  const references = [{ sessionId: ID }]
  await expect(
    prepare({ message: 'go on', references, roots: [home.root], maxReferenceBytes: 10 }),
  ).rejects.toMatchObject({
    message: expect.stringMatching(/raise maxReferenceBytes to at least/),
    facts: { option: 'maxReferenceBytes' },
  })
})
