import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig(({ mode }) => ({
  test: {
    root: fileURLToPath(new URL('..', import.meta.url)),
    include: ['test/**/*.test.ts'],
    env: {
      // The configuration of the person who runs the tests is none of their business.
      XDG_CONFIG_HOME: '/nonexistent',
      // What that widens is in test/support/exhaustive.ts.
      ...(mode === 'exhaustive' && { DSH_REF_EXHAUSTIVE: '1' }),
    },
    // Many tests wait for programs they start, so a second worker pays even on a small machine.
    maxWorkers: 2,
    // No file changes what another one imports, and loading the sources anew for each is a fifth of the whole time.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 180_000,
  },
}))
