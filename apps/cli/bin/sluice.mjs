#!/usr/bin/env node
// `npx sluice …`: starts the command line through the launcher, which finds Node 24 on any machine.
process.argv.splice(2, 0, 'apps/cli/src/main.ts')
await import('../../../scripts/launch.mjs')
