/**
 * Node's options that limit a process's memory, by app. docs/ and infra/ must have the same values. Node
 * postpones garbage collection as long as the machine has free memory. Without these limits, a worker uses three times
 * the memory that it needs.
 *
 * The initial size and the growth keep the worker from running a full collection whenever a few buffers are garbage.
 * With so small a maximum, the heap would otherwise grow by a third at most between two collections.
 *
 * The API may have thousands of waiting requests. Their garbage is collected while it is little.
 *
 * The S3 gateway passes bytes on, so its buffers become garbage at once. Its small young generation fills quickly, so
 * the buffers are collected early.
 */
export const memoryLimits = {
  api: ['--max-semi-space-size=8', '--heap-growing-percent=20'],
  worker: [
    '--max-semi-space-size=16',
    '--initial-old-space-size=64',
    '--max-old-space-size=256',
    '--heap-growing-percent=70',
  ],
  's3-gateway': ['--max-semi-space-size=2', '--max-old-space-size=128'],
} as const
