import { summaryOf } from './tests/results.ts'

// Prints the sum of the last npm test and the last npm run test:long.
console.log(await summaryOf(['fast', 'long']))
