import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { seeded } from '../../environment/random.ts'
import { openClientApp } from '../../faults/harness/client.ts'
import { compareWithModel } from '../../faults/harness/comparison.ts'
import { keepUploading, untilProgress } from '../../faults/harness/random-run.ts'
import { networkProblem } from './namespaces.ts'
import { endFaults, networkFaults, startCluster } from './network-faults.ts'

// A real network between workers and servers: packets are lost in the kernel, so connections break as they do between
// machines.
const problem = await networkProblem()
if (problem !== undefined) console.warn(`Tests are skipped: ${problem}`)

/** How long a fault lasts, ms: longer than a lease. */
const faultMs = 5_000
const seed = 1

test.skipIf(problem !== undefined)(
  'imports between hosts end as the model says, whatever packets are lost, delayed or slow',
  { timeout: 900_000 },
  async () => {
    const cluster = await startCluster()
    try {
      const { deployment, network } = cluster
      const apps = await Promise.all([openClientApp(deployment), openClientApp(deployment)])
      const over = new AbortController()
      const uploading = Promise.all(
        apps.map((app, index) => keepUploading(deployment, app, seeded(seed + index), over.signal)),
      )
      uploading.catch(() => {}) // awaited below unless something else fails first
      const possible = networkFaults.filter(({ needsDelay }) => needsDelay !== true || network.canDelay)
      if (!network.canDelay) console.warn('Links have no delay, and jitter is not tried: this kernel has no netem.')
      try {
        for (const fault of possible) {
          await fault.begin(cluster)
          await delay(faultMs)
          await endFaults(cluster)
          const recovery = await untilProgress(deployment, apps)
          console.log(`${fault.name}: every app makes progress ${(recovery / 1_000).toFixed(1)} s after it`)
        }
      } finally {
        over.abort()
      }
      await uploading
      const { violations, ...figures } = await compareWithModel(deployment, apps, { timeoutMs: 180_000 })
      console.log(`${possible.length} faults, ${JSON.stringify(figures)}`)
      expect(violations).toEqual([])
      expect(figures.imports).toBeGreaterThan(possible.length)
    } finally {
      await endFaults(cluster).catch(() => {})
      await cluster.close()
    }
  },
)
