import fc from "fast-check";

// The same cases in each run: what a property finds today it finds tomorrow. To look for more, set FC_SEED to another number, or to
// `random`.
const { FC_SEED: given } = process.env;
if (given !== "random") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(given ?? 20_261_120) });
