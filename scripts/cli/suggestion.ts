/** The commands and the settings file guess alike what was meant. */
export { didYouMean as suggestion } from '#scripts/configure/did-you-mean.ts';
