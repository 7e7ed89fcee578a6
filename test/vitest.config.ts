import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    include: ['test/**/*.test.ts'],
    // The configuration of the person who runs the tests is none of their business.
    env: { XDG_CONFIG_HOME: '/nonexistent' },
    // Most tests wait for programs they start, so a second worker pays even on a small machine.
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 180_000,
  },
})
