// A service that logs all the time, and once more when it stops.
import { runService } from '../index.ts'

await runService('talkative', { stopDeadlineMs: 5_000 }, async (log) => {
  const timer = setInterval(() => log.info('still here'), 5)
  return {
    info: {},
    async stop() {
      clearInterval(timer)
      log.fatal('last words')
    },
  }
})
