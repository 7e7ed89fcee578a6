import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    include: ['test/**/*.test.ts'],
    // The configuration of the person who runs the tests is none of their business.
    env: { XDG_CONFIG_HOME: '/nonexistent' },
    testTimeout: 60_000,
    hookTimeout: 180_000,
  },
})
