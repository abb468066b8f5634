"""The best settings of a method, within the same number of trials as every other one."""
