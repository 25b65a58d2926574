/**
 * Node's options that bound a process's memory, by app; README.md and what lies in infra/ name the same. Node lets garbage pile up
 * as long as the machine has memory: without them a worker takes three times what it needs. The initial size keeps it from
 * collecting everything whenever some buffers are garbage. The S3 gateway passes bytes on: what it was given before is garbage at
 * once, and is to be collected as soon.
 */
export const memoryLimits = {
  worker: ['--max-semi-space-size=16', '--initial-old-space-size=64', '--max-old-space-size=256'],
  's3-gateway': ['--max-semi-space-size=2', '--max-old-space-size=128'],
} as const
