// Turns that hold only images or files: no snapshot shows them, and so the transcript and the plan say that they were there.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Home, makeHome } from '../support/homes.ts'
import { run } from '../support/program.ts'
import { assistant, logOf, type MadeRow, user } from '../support/rows.ts'

const SENTENCE = '2 turns of the user hold no text (only images or files, or nothing) and are left out.'

function withBlocks(...content: readonly object[]): MadeRow {
  const row = user('x')
  return { ...row, data: { ...(row.data as object), content } }
}

const image = { type: 'image', mediaType: 'image/png', data: 'aGk=' }

let home: Home
beforeAll(() => {
  home = makeHome()
  const turns = [withBlocks(image), assistant('a cat'), withBlocks(image, image), assistant('two')]
  home.write(logOf(4, [user('look'), ...turns], { id: 'pictures' }))
  home.write(logOf(4, [user('look'), withBlocks(image, { type: 'text', text: 'this' })], { id: 'captioned' }))
})
afterAll(() => home.remove())

test.each(['spill', 'markdown', 'text', 'json'])('transcript --format %s says how many there were', async (format) => {
  const { status, stdout, stderr } = await run(['transcript', 'pictures', '--root', home.root, '--format', format])
  expect({ status, stderr }).toEqual({ status: 0, stderr: `dsh-ref: ${SENTENCE}\n` })
  if (format === 'json') expect(JSON.parse(stdout)).toMatchObject({ turnsWithoutText: 2 })
})

test('--explain and --dry-run say it of each source', async () => {
  const args = ['prepare', 'go on', '--root', home.root, '--ref', 'pictures', '--ref', 'captioned']
  expect((await run([...args, '--explain'])).stderr).toContain(`pictures: ${SENTENCE}\n`)
  const { stdout } = await run([...args, '--dry-run', '--format', 'json'])
  expect(JSON.parse(stdout).sources.map((source: Record<string, unknown>) => source.turnsWithoutText)).toEqual([
    2,
    undefined,
  ])
})

test('nothing is said of turns with a text beside the image', async () => {
  const { stderr } = await run(['transcript', 'captioned', '--root', home.root])
  expect(stderr).toBe('')
})
