// Whoever runs the program in a process of their own, as the tests do, has no listeners left of the runs that are over.

import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { interruption } from '../../src/cli/signals.ts'
import { run } from '../support/program.ts'

test('no run leaves a listener behind, whatever it prints', async () => {
  const before = getEventListeners(interruption, 'abort').length
  for (const args of [
    ['uri', 'encode', 'a'],
    ['uri', 'decode', 'wrong'],
    ['help'],
    ['list', '--root', '/nonexistent'],
  ]) {
    await run(args)
  }
  expect(getEventListeners(interruption, 'abort')).toHaveLength(before)
})
