import { beforeAll, beforeEach } from 'vitest'

/**
 * Opens something before the tests of a file or a block, and closes it after them if it has `close`. What is returned
 * has the members of what was opened, from the next hook or test on.
 */
export const openBeforeAll = <Opened extends object>(open: () => Promise<Opened>) => openIn(beforeAll, open)

/** Opens something before each test of a file or a block, and closes it after that test. See {@link openBeforeAll}. */
export const openBeforeEach = <Opened extends object>(open: () => Promise<Opened>) => openIn(beforeEach, open)

function openIn<Opened extends object>(hook: typeof beforeAll | typeof beforeEach, open: () => Promise<Opened>) {
  const opened = {} as Opened & { close?: () => unknown }
  hook(async () => {
    Object.assign(opened, await open())
    return () => opened.close?.()
  })
  return opened
}
