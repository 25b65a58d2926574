import { expect, test } from 'vitest'
import { retryPause } from './retry-pause.ts'

test('pauses double from 5 s on, and are at most the longest one, whatever chance adds', () => {
  for (let run = 0; run < 1_000; run++) {
    expect(retryPause(1, 100)).toSatisfy((pause: number) => pause >= 5 && pause <= 6.25)
    expect(retryPause(4, 100)).toSatisfy((pause: number) => pause >= 40 && pause <= 50)
    expect(retryPause(1_000, 100)).toSatisfy((pause: number) => pause >= 80 && pause <= 100)
  }
})
