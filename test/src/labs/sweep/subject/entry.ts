// The process under test: several apps in one process, so that one kill or stop hits all of them at the same moment.
// SWEEP_APPS names the apps. Maintenance has no schedule here. The sweep asks for each task by a message, so that no
// timer decides which message is the n-th.
import { flushCompileCache } from 'node:module'
import { runTasks } from './tasks.ts'

const apps = {
  api: () => import('../../../../../apps/api/src/main.ts'),
  worker: () => import('../../../../../apps/worker/src/main.ts'),
  's3-gateway': () => import('../../../../../apps/s3-gateway/src/main.ts'),
}

for (const [name, start] of Object.entries(apps)) {
  if (process.env.SWEEP_APPS?.split(',').includes(name)) await start()
}
runTasks()
// The process is killed in the end, which would keep nothing that it compiled. The next one is ready a quarter sooner.
flushCompileCache()
process.send?.({ type: 'all ready' })
